/**
 * Reads vaults from a local node, and prints requests, bytes and seconds for a thousand blocks, the calls of a mark, and
 * the requests for logs of each of the newest blocks where their bloom filters are full.
 *   npm run bench:chain [-- --vaults 200 --pools 20 --blocks 20000 --mark-every 300]
 */
import { parseArgs } from 'node:util'
import type { Address, Hex } from 'viem'
import { chainFeed } from '../../src/chain/feed.ts'
import { startChain, type TestChain } from '../chain/support/anvil.ts'
import * as artifacts from '../chain/support/artifacts.ts'
import { openVault, type Operator } from '../chain/support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from '../chain/support/protocol.ts'
import { type RpcAnswer, startProxy } from '../chain/support/proxy.ts'
import { chainJson, type ChainJson, optionsOf } from '../chain/support/reading.ts'

const { values } = parseArgs({
  options: {
    vaults: { type: 'string', default: '20' },
    pools: { type: 'string', default: '4' },
    blocks: { type: 'string', default: '2000' },
    'mark-every': { type: 'string', default: '300' },
  },
})
const [vaultCount, poolCount, blockCount] = [Number(values.vaults), Number(values.pools), Number(values.blocks)]
/** Blocks between two transactions of somebody. */
const quietBlocks = 100
const blocksAtOnce = 20
/** Blocks that the reader reads one by one at the end of a chain. */
const singleBlocks = 64

interface Pool {
  readonly pair: readonly [readonly [TestToken, bigint], readonly [TestToken, bigint]]
  readonly address: Address
}

interface World {
  readonly chain: TestChain
  readonly protocol: Protocol
  readonly json: (url: string) => ChainJson
  readonly blocks: number
}

/** Requests of one run of the reader. */
interface Requests {
  readonly byMethod: Record<string, number>
  readonly bytes: number
  readonly seconds: number
  /** The most calls at one block in which all vaults are marked and nothing else happens. */
  readonly callsOfMark: number
  readonly marks: number
  /** Requests for logs of single blocks. */
  readonly logsOfBlocks: number
}

async function build(chain: TestChain): Promise<World> {
  const protocol = await deployProtocol(chain)
  const pools = await createPools(chain, protocol)
  const vaults: Operator[] = []
  for (let index = 0; index < vaultCount; index++) vaults.push(await openVault(chain, protocol, protocol.usdc))
  const [deployer, , alice] = chain.accounts as [Address, Address, Address]
  for (const [index, vault] of vaults.entries()) {
    const { pair } = pools[index % pools.length] as Pool
    const data = protocol.mintData(vault.address, -887_270, 887_270, pair)
    await chain.block({ from: deployer, to: protocol.manager, data }, vault.deposit(alice, 10n ** 9n))
  }
  const first = await chain.head()
  for (let mined = 0; mined < blockCount; mined += quietBlocks) {
    const vault = vaults[(mined / quietBlocks) % vaults.length] as Operator
    await chain.block(vault.deposit(alice, 10n ** 7n), protocol.swap(protocol.usdc, protocol.weth, 10n ** 9n))
    if (mined % 1_000 === 0) console.log(`${mined} of ${blockCount} blocks`)
    // A request of the local node must end before its client's timeout.
    for (let left = quietBlocks - 1; left > 0; left -= blocksAtOnce) await chain.mine(Math.min(left, blocksAtOnce))
  }
  const ofPools = pools.map(({ pair: [[token]], address }) => ({ ...token, price: [address] }))
  const tokens = new Map(ofPools.map(({ address, symbol, price }) => [address, { address, symbol, price }] as const))
  const json = (url: string): ChainJson => {
    const more = { markEveryBlocks: Number(values['mark-every']), rpc: [{ url, requestsPerSecond: 10_000 }] }
    const base = chainJson(
      url,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
      more,
    )
    const known = base['tokens'] as { address: Address }[]
    const others = [...tokens.values()].filter(({ address }) => known.every((one) => one.address !== address))
    return { ...base, tokens: [...known, ...others] }
  }
  return { chain, protocol, json, blocks: (await chain.head()) - first }
}

/** Pools of USDC with other tokens, in three tiers each. */
async function createPools(chain: TestChain, protocol: Protocol): Promise<Pool[]> {
  const [deployer] = chain.accounts as [Address]
  const pools: Pool[] = []
  for (let index = 0; pools.length < poolCount; index++) {
    const symbol = `T${index}`
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, symbol, 18))
    const token: TestToken = { address, symbol, decimals: 18 }
    await chain.block(protocol.mint(deployer, token, 10n ** 30n), protocol.approve(deployer, token, protocol.manager))
    const pair = [[token, 10n ** 18n] as const, [protocol.usdc, 10n ** 6n] as const] as const
    for (const tier of [500, 3_000, 10_000]) {
      if (pools.length < poolCount) pools.push({ pair, address: await protocol.createPool(pair[0], pair[1], tier) })
    }
  }
  return pools
}

async function read({ chain, json }: World, hasFullBlooms: boolean): Promise<Requests> {
  const callsOf = new Map<string, number>()
  /** Numbers of blocks, by their hashes. */
  const numbers = new Map<string, number>()
  let [bytes, logsOfBlocks] = [0, 0]
  const proxy = await startProxy(chain.url, async (request, pass) => {
    const answer = await pass()
    const at = (request.params[1] as { blockHash?: string } | undefined)?.blockHash
    if (request.method === 'eth_call' && at !== undefined) callsOf.set(at, (callsOf.get(at) ?? 0) + 1)
    if (request.method === 'eth_getLogs' && isOfBlock(request.params[0])) logsOfBlocks++
    const block = blockIn(answer)
    if (block !== null) numbers.set(block.hash, Number(block.number))
    bytes += JSON.stringify(request).length + JSON.stringify(answer).length
    return hasFullBlooms ? withFullBloom(answer) : answer
  })
  const began = performance.now()
  let marks = 0
  for await (const facts of chainFeed(optionsOf(json(proxy.url)), null).facts) {
    marks += facts.filter(({ kind }) => kind === 'mark').length
  }
  const seconds = (performance.now() - began) / 1_000
  const byMethod = proxy.takeCounts()
  await proxy.close()
  const atMarks = [...callsOf].filter(([hash]) => isMark(numbers.get(hash) ?? 0)).map(([, calls]) => calls)
  return { byMethod, bytes, seconds, callsOfMark: Math.max(0, ...atMarks), marks, logsOfBlocks }
}

function isOfBlock(filter: unknown): boolean {
  return typeof filter === 'object' && filter !== null && 'blockHash' in filter
}

/** Tells whether all vaults are marked in a block, since it is their turn. */
function isMark(block: number): boolean {
  return block > 0 && block % Number(values['mark-every']) === 0
}

function blockIn(answer: RpcAnswer): { readonly hash: string; readonly number: Hex } | null {
  if (!('result' in answer) || typeof answer.result !== 'object' || answer.result === null) return null
  return 'logsBloom' in answer.result && 'parentHash' in answer.result
    ? (answer.result as unknown as { hash: string; number: Hex })
    : null
}

function withFullBloom(answer: RpcAnswer): RpcAnswer {
  const block = blockIn(answer)
  return block === null ? answer : { result: { ...block, logsBloom: `0x${'f'.repeat(512)}` satisfies Hex } }
}

/** The local node takes its time where the machine has other work. */
const chain = await startChain({ timeoutMilliseconds: 1_800_000 })
try {
  const world = await build(chain)
  const thousands = world.blocks / 1_000
  const plain = await read(world, false)
  const full = await read(world, true)
  const requests = Object.values(plain.byMethod).reduce((sum, count) => sum + count, 0)
  console.table([
    {
      vaults: vaultCount,
      pools: poolCount,
      blocks: world.blocks,
      marks: plain.marks,
      'requests / 1,000 blocks': Math.round(requests / thousands),
      'kB / 1,000 blocks': Math.round(plain.bytes / 1_000 / thousands),
      'seconds / 1,000 blocks': Number((plain.seconds / thousands).toFixed(2)),
      'most calls of a mark': plain.callsOfMark,
      'logs requests / newest block, full bloom': Number((full.logsOfBlocks / singleBlocks).toFixed(2)),
    },
  ])
  console.log(plain.byMethod)
} finally {
  await chain.stop()
}
