/**
 * Reads vaults from a local node while its chain grows, and prints requests, bytes and seconds per thousand blocks, the
 * maximum number of calls for a mark, and the maximum number of requests for the logs of one block, also with full bloom
 * filters.
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
/** Interval, in blocks, of blocks with transactions. */
const quietBlocks = 100
const maxBlocksPerRequest = 20
const finality = 2
/**
 * Number of blocks that are mined and then read, repeatedly. The node must keep the state of each block until it is read: a
 * megabyte for 200 vaults, so that those of 20,000 blocks would need too much memory.
 */
const stepBlocks = 2_000
/** Upper limit of the blocks in which pools and vaults are created. */
const setupBlocks = 100 + 5 * (vaultCount + poolCount)

/** A pool, and its tokens with the amounts of a position, whose ratio is the initial price. */
interface Pool {
  readonly pair: readonly [readonly [TestToken, bigint], readonly [TestToken, bigint]]
  readonly address: Address
}

/** A chain with pools and vaults. */
interface World {
  readonly chain: TestChain
  /** Returns a chain.json for the node at an address. */
  readonly json: (url: string) => ChainJson
  /** Mines blocks; each hundredth has a deposit and a swap. */
  readonly grow: (blocks: number) => Promise<void>
}

/** Measurements of one reader. */
interface ReaderMeasurement {
  /** Number of requests by method. */
  readonly byMethod: Record<string, number>
  /** Bytes of requests and responses, as JSON. */
  readonly bytes: number
  readonly seconds: number
  /** Maximum number of eth_call requests at a block in which all vaults are marked on schedule. */
  readonly maxCallsPerMark: number
  readonly marks: number
  /** Maximum number of eth_getLogs requests for one block. */
  readonly maxLogRequestsPerBlock: number
}

/** Deploys the protocol, creates pools and vaults, and deposits to each vault. */
async function buildWorld(chain: TestChain): Promise<World> {
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
        // Small requests, so that each ends before the timeout of the client.
        for (let left = quietBlocks - 1; left > 0; left -= maxBlocksPerRequest)
          await chain.mine(Math.min(left, maxBlocksPerRequest))
      }
    },
    json: (url) => jsonOf(url, protocol, pools, vaults),
  }
}

function jsonOf(url: string, protocol: Protocol, pools: readonly Pool[], vaults: readonly Operator[]): ChainJson {
  const poolTokens = pools.map(({ pair: [[token]], address }) => ({ ...token, price: [address] }))
  const tokens = new Map(poolTokens.map(({ address, symbol, price }) => [address, { address, symbol, price }] as const))
  const vaultEntries = vaults.map(({ address, firstBlock }) => ({ address, firstBlock }))
  const base = chainJson(url, protocol, vaultEntries, { markEveryBlocks: Number(values['mark-every']), finality })
  const known = base['tokens'] as { address: Address }[]
  const others = [...tokens.values()].filter(({ address }) => known.every((one) => one.address !== address))
  return { ...base, tokens: [...known, ...others] }
}

/** Creates pools of USDC with other tokens, with up to three fee tiers each. */
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

/** Opens a reader whose requests to the node are counted. */
async function openReader({ chain, json }: World, useFullBlooms: boolean) {
  /** Numbers of eth_call and eth_getLogs requests by block hash. */
  const [calls, logRequests] = [new Map<string, number>(), new Map<string, number>()]
  const numbers = new Map<string, number>()
  const counted = { bytes: 0, seconds: 0, marks: 0 }
  const proxy = await startProxy(chain.url, async (request, pass) => {
    const answer = await pass()
    if (request.method === 'eth_call') addOne(calls, blockHashIn(request.params[1]))
    if (request.method === 'eth_getLogs') addOne(logRequests, blockHashIn(request.params[0]))
    const block = blockIn(answer)
    if (block !== null) numbers.set(block.hash, Number(block.number))
    counted.bytes += JSON.stringify(request).length + JSON.stringify(answer).length
    return useFullBlooms ? withFullBloom(answer) : answer
  })
  const stop = new AbortController()
  const feed = chainFeed(optionsOf(json(proxy.url), { once: false, signal: stop.signal }), null)
  const pauser = createPauser()
  feed.onEnd(({ block }) => pauser.at(block.number))
  const readAll = async (): Promise<void> => {
    for await (const facts of feed.facts) counted.marks += facts.filter(({ kind }) => kind === 'mark').length
  }
  let reading: Promise<void> | null = null
  return {
    /** Reads up to the newest final block, and pauses there. */
    async readToHead(): Promise<void> {
      const began = performance.now()
      const done = pauser.until((await chain.head()) - finality - 1)
      reading ??= readAll()
      // Rejects if the reader fails.
      await Promise.race([done, reading])
      counted.seconds += (performance.now() - began) / 1_000
    },
    async close(): Promise<ReaderMeasurement> {
      stop.abort()
      pauser.end()
      await reading
      await proxy.close()
      const atMarks = [...calls].filter(([hash]) => isMarkBlock(numbers.get(hash) ?? 0)).map(([, count]) => count)
      return {
        ...counted,
        byMethod: proxy.takeCounts(),
        maxCallsPerMark: Math.max(0, ...atMarks),
        maxLogRequestsPerBlock: Math.max(0, ...logRequests.values()),
      }
    },
  }
}

/** Pauses a reader at the head of the chain, so that it does not read each block separately while more are mined. */
function createPauser() {
  let targetBlock = Infinity
  let reached: () => void = () => undefined
  let resume: () => void = () => undefined
  let isEnded = false
  return {
    /** Called by the reader at the head of the chain; resolves when it may continue. */
    at(block: number): Promise<void> {
      if (isEnded || block < targetBlock) return Promise.resolve()
      const paused = new Promise<void>((resolve) => (resume = resolve))
      reached()
      return paused
    },
    /** Lets the reader continue; resolves when it has reached this block. */
    until(block: number): Promise<void> {
      targetBlock = block
      const done = new Promise<void>((resolve) => (reached = resolve))
      resume()
      return done
    },
    /** Never pauses again. */
    end(): void {
      isEnded = true
      resume()
    },
  }
}

/** Returns the block hash in a parameter of a request; null if there is none. */
function blockHashIn(filter: unknown): string | null {
  const { blockHash = null } = (filter ?? {}) as { blockHash?: string }
  return blockHash
}

function addOne(counts: Map<string, number>, key: string | null): void {
  if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Returns whether all vaults are marked in a block on schedule. */
function isMarkBlock(block: number): boolean {
  return block > 0 && block % Number(values['mark-every']) === 0
}

/** Returns the block header in a response; null if it has none. */
function blockIn(answer: RpcAnswer): { readonly hash: string; readonly number: Hex } | null {
  if (!('result' in answer) || typeof answer.result !== 'object' || answer.result === null) return null
  return 'logsBloom' in answer.result && 'parentHash' in answer.result
    ? (answer.result as unknown as { hash: string; number: Hex })
    : null
}

/** Returns a response with all bits of a header's bloom filter set. */
function withFullBloom(answer: RpcAnswer): RpcAnswer {
  const block = blockIn(answer)
  return block === null ? answer : { result: { ...block, logsBloom: `0x${'f'.repeat(512)}` satisfies Hex } }
}

// Requests to the local node take long when the machine is busy.
const chain = await startChain({ timeoutMilliseconds: 600_000, states: setupBlocks + stepBlocks })
try {
  const world = await buildWorld(chain)
  const readers = [await openReader(world, false), await openReader(world, true)]
  for (let mined = 0; mined < blockCount; mined += stepBlocks) {
    await world.grow(Math.min(stepBlocks, blockCount - mined))
    for (const reader of readers) await reader.readToHead()
    console.log(`${Math.min(mined + stepBlocks, blockCount)} of ${blockCount} blocks`)
  }
  const [plain, full] = (await Promise.all(readers.map((reader) => reader.close()))) as [
    ReaderMeasurement,
    ReaderMeasurement,
  ]
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
      'max calls per mark': plain.maxCallsPerMark,
      'max log requests per block': plain.maxLogRequestsPerBlock,
      'with full blooms': full.maxLogRequestsPerBlock,
    },
  ])
  console.log(plain.byMethod)
} finally {
  await chain.stop()
}
