/**
 * Reads vaults from a local node as its chain grows, and prints requests, bytes and seconds for a thousand blocks, the
 * most calls of a mark, and the most requests for logs of one block where bloom filters are full.
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
const finality = 2
/**
 * Blocks that are mined before they are read. The node keeps the state of each block that is to be read, a megabyte for
 * 200 vaults: those of 20,000 blocks would not fit the memory.
 */
const stepBlocks = 2_000
/** Blocks in which the vaults are created. */
const preparingBlocks = 100 + 5 * (vaultCount + poolCount)

interface Pool {
  readonly pair: readonly [readonly [TestToken, bigint], readonly [TestToken, bigint]]
  readonly address: Address
}

interface World {
  readonly chain: TestChain
  readonly json: (url: string) => ChainJson
  /** Mines so many blocks, with a deposit and a swap in some. */
  readonly grow: (blocks: number) => Promise<void>
}

/** Requests of one reader. */
interface Requests {
  readonly byMethod: Record<string, number>
  readonly bytes: number
  readonly seconds: number
  /** The most calls at one block in which all vaults are marked and nothing else happens. */
  readonly callsOfMark: number
  readonly marks: number
  /** The most requests for the logs of one block. */
  readonly logsOfBlock: number
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
  let mined = 0
  return {
    chain,
    async grow(blocks) {
      for (const end = mined + blocks; mined < end; mined += quietBlocks) {
        const vault = vaults[(mined / quietBlocks) % vaults.length] as Operator
        await chain.block(vault.deposit(alice, 10n ** 7n), protocol.swap(protocol.usdc, protocol.weth, 10n ** 9n))
        // A request of the local node must end before its client's timeout.
        for (let left = quietBlocks - 1; left > 0; left -= blocksAtOnce) await chain.mine(Math.min(left, blocksAtOnce))
      }
    },
    json: (url) => jsonOf(url, protocol, pools, vaults),
  }
}

function jsonOf(url: string, protocol: Protocol, pools: readonly Pool[], vaults: readonly Operator[]): ChainJson {
  const ofPools = pools.map(({ pair: [[token]], address }) => ({ ...token, price: [address] }))
  const tokens = new Map(ofPools.map(({ address, symbol, price }) => [address, { address, symbol, price }] as const))
  const places = vaults.map(({ address, firstBlock }) => ({ address, firstBlock }))
  const base = chainJson(url, protocol, places, { markEveryBlocks: Number(values['mark-every']), finality })
  const known = base['tokens'] as { address: Address }[]
  const others = [...tokens.values()].filter(({ address }) => known.every((one) => one.address !== address))
  return { ...base, tokens: [...known, ...others] }
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

/** Reads the chain as it grows, and counts what is asked for. */
async function openReader({ chain, json }: World, hasFullBlooms: boolean) {
  /** Requests by the hash of a block: calls, and for logs. */
  const [callsOf, logsOf] = [new Map<string, number>(), new Map<string, number>()]
  const numbers = new Map<string, number>()
  const counted = { bytes: 0, seconds: 0, marks: 0 }
  const proxy = await startProxy(chain.url, async (request, pass) => {
    const answer = await pass()
    if (request.method === 'eth_call') addOne(callsOf, blockHashIn(request.params[1]))
    if (request.method === 'eth_getLogs') addOne(logsOf, blockHashIn(request.params[0]))
    const block = blockIn(answer)
    if (block !== null) numbers.set(block.hash, Number(block.number))
    counted.bytes += JSON.stringify(request).length + JSON.stringify(answer).length
    return hasFullBlooms ? withFullBloom(answer) : answer
  })
  const stop = new AbortController()
  const feed = chainFeed(optionsOf(json(proxy.url), { once: false, signal: stop.signal }), null)
  const pauses = createPauses()
  feed.onEnd(({ block }) => pauses.at(block.number))
  const readAll = async (): Promise<void> => {
    for await (const facts of feed.facts) counted.marks += facts.filter(({ kind }) => kind === 'mark').length
  }
  let reading: Promise<void> | null = null
  return {
    /** Reads up to the newest final block, and waits there. */
    async readOn(): Promise<void> {
      const began = performance.now()
      const done = pauses.until((await chain.head()) - finality - 1)
      reading ??= readAll()
      // An error of the reader ends the wait.
      await Promise.race([done, reading])
      counted.seconds += (performance.now() - began) / 1_000
    },
    async close(): Promise<Requests> {
      stop.abort()
      pauses.end()
      await reading
      await proxy.close()
      const atMarks = [...callsOf].filter(([hash]) => isMark(numbers.get(hash) ?? 0)).map(([, calls]) => calls)
      return {
        ...counted,
        byMethod: proxy.takeCounts(),
        callsOfMark: Math.max(0, ...atMarks),
        logsOfBlock: Math.max(0, ...logsOf.values()),
      }
    },
  }
}

/** Holds a reader at the end of the chain, so that it does not read each new block singly while more are mined. */
function createPauses() {
  let wanted = Infinity
  let reached: () => void = () => undefined
  let goOn: () => void = () => undefined
  let isEnded = false
  return {
    /** Called by the reader at its newest block. */
    at(block: number): Promise<void> {
      if (isEnded || block < wanted) return Promise.resolve()
      const held = new Promise<void>((resolve) => (goOn = resolve))
      reached()
      return held
    },
    /** Lets the reader read up to a block. */
    until(block: number): Promise<void> {
      wanted = block
      const done = new Promise<void>((resolve) => (reached = resolve))
      goOn()
      return done
    },
    end(): void {
      isEnded = true
      goOn()
    },
  }
}

function blockHashIn(filter: unknown): string | null {
  const { blockHash = null } = (filter ?? {}) as { blockHash?: string }
  return blockHash
}

function addOne(counts: Map<string, number>, key: string | null): void {
  if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
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
const chain = await startChain({ timeoutMilliseconds: 600_000, states: preparingBlocks + stepBlocks })
try {
  const world = await build(chain)
  const readers = [await openReader(world, false), await openReader(world, true)]
  for (let mined = 0; mined < blockCount; mined += stepBlocks) {
    await world.grow(Math.min(stepBlocks, blockCount - mined))
    for (const reader of readers) await reader.readOn()
    console.log(`${Math.min(mined + stepBlocks, blockCount)} of ${blockCount} blocks`)
  }
  const [plain, full] = (await Promise.all(readers.map((reader) => reader.close()))) as [Requests, Requests]
  const thousands = blockCount / 1_000
  const requests = Object.values(plain.byMethod).reduce((sum, count) => sum + count, 0)
  console.table([
    {
      vaults: vaultCount,
      pools: poolCount,
      blocks: blockCount,
      marks: plain.marks,
      'requests / 1,000 blocks': Math.round(requests / thousands),
      'kB / 1,000 blocks': Math.round(plain.bytes / 1_000 / thousands),
      'seconds / 1,000 blocks': Number((plain.seconds / thousands).toFixed(2)),
      'most calls of a mark': plain.callsOfMark,
      'most logs requests of a block': plain.logsOfBlock,
      'the same, full blooms': full.logsOfBlock,
    },
  ])
  console.log(plain.byMethod)
} finally {
  await chain.stop()
}
