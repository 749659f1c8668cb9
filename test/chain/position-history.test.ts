import { type Address, concatHex, getAddress, type Hex, numberToHex, padHex, toEventSelector, zeroAddress } from 'viem'
import { expect, test, vi } from 'vitest'
import { readPositionStates } from '../../src/chain/positions/position-history.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { nftPositions } from '../../src/chain/venues/nft-positions.ts'
import { Pools } from '../../src/chain/venues/pools.ts'
import type { StoredPosition } from '../../src/chain/venues/venue.ts'
import { Venues } from '../../src/chain/venues/venues.ts'
import { type Intercept, type RpcAnswer, startProxy } from './support/proxy.ts'

const manager = getAddress(`0x${'c3'.repeat(20)}`)
const stranger: Address = `0x${'5a'.repeat(20)}`
const hash: Hex = `0x${'ab'.repeat(32)}`
const id = 7n
const block = 20_000_000
const createdAt = 1_000
/** Only part of what it owes was withdrawn from it. */
const stored: StoredPosition = {
  token0: zeroAddress,
  token1: stranger,
  feeTier: 500,
  ticks: { lower: 0, upper: 10 },
  liquidity: 60n,
  credited: [5n, 9n],
  growthCounted: [0n, 0n],
}

/** Returns a log of the position, with its topics and words of data. */
function logOf(number: number, event: string, topics: readonly Hex[], ...words: readonly bigint[]) {
  return {
    address: manager,
    topics: [toEventSelector(event), ...topics],
    data: concatHex(words.map((word) => numberToHex(word, { size: 32 }))),
    blockNumber: numberToHex(number),
    blockHash: numberToHex(number, { size: 32 }),
    transactionHash: hash,
    logIndex: '0x0',
  }
}
const idTopic = numberToHex(id, { size: 32 })
const changed = 'Liquidity(uint256,uint128,uint256,uint256)'
const logs = [
  logOf(createdAt, 'Transfer(address,address,uint256)', [
    padHex(zeroAddress, { size: 32 }),
    padHex(stranger, { size: 32 }),
    idTopic,
  ]),
  logOf(createdAt + 1, `Increase${changed}`, [idTopic], 100n, 50n, 50n),
  logOf(9_000_000, `Decrease${changed}`, [idTopic], 40n, 5n, 2n),
]

/** Returns a node with these logs alone, which refuses ranges of more blocks than the maximum, or with older blocks. */
function nodeOf(maxBlocks: number, refusal: RpcAnswer, oldest = 0): Intercept {
  return ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: headerOf(params[0] as Hex) })
    const { fromBlock, toBlock, topics } = params[0] as { fromBlock: Hex; toBlock: Hex; topics: (Hex | Hex[] | null)[] }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from >= maxBlocks || from < oldest) return Promise.resolve(refusal)
    const result = logs.filter((log) => {
      const fits = topics.every((some, place) => some === null || [some].flat().includes(log.topics[place] ?? '0x'))
      return fits && Number(log.blockNumber) >= from && Number(log.blockNumber) <= to
    })
    return Promise.resolve({ result })
  }
}

const headerOf = (number: Hex): object => ({
  number,
  hash: padHex(number, { size: 32 }),
  parentHash: hash,
  timestamp: '0x65000000',
  logsBloom: `0x${'0'.repeat(512)}`,
})

/** Reads the state of the position; returns it with the requests for logs and the log messages of the reader. */
async function read(intercept: Intercept) {
  const proxy = await startProxy('http://127.0.0.1:9', intercept)
  const report = vi.fn()
  const retry = { firstMilliseconds: 1, maxMilliseconds: 2 }
  const options = {
    report,
    signal: new AbortController().signal,
    retry,
    givesUp: true,
    onLastingFault: () => undefined,
  }
  const impatientRpc = connectRpc({ chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 100_000 }] }, options)
  // Of the newest blocks logs are not read in ranges.
  impatientRpc.newest.note({ number: block + 1_000 })
  const venues = new Venues([nftPositions({ address: manager, pools: new Pools(), isSlipstream: false, prefix: '' })])
  const states = await readPositionStates({ impatientRpc, venues, report }, block, new Map([[String(id), stored]]))
  const { eth_getLogs: requests = 0 } = proxy.takeCounts()
  await proxy.close()
  expect(states).toEqual(new Map([[String(id), { liquidity: 60n, freed: [5n, 2n] }]]))
  return { requests, report }
}

const progress = 'Reading the logs of positions since their creation'
const tooWide: RpcAnswer = { error: { code: -32_000, message: 'query exceeds max block range 1000000' } }
const unknown: RpcAnswer = { error: { code: -32_000, message: 'nope' } }

test('the logs of an old position are read in ranges that double, with progress messages', async () => {
  const { requests, report } = await read(nodeOf(Infinity, tooWide))
  expect(requests).toBeLessThan(60)
  expect(report).toHaveBeenCalledWith('info', progress, expect.objectContaining({ positions: 1, one: String(id) }))
}, 120_000)

test.each([
  ['by its width', tooWide],
  ['in words that say nothing', unknown],
])(
  'a range that a node refuses %s is narrowed, and wider ones are tried seldom',
  async (_name, refusal) => {
    const { requests, report } = await read(nodeOf(1_000_000, refusal))
    expect(requests).toBeLessThan(300)
    expect(report.mock.calls.filter(([level]) => level === 'error')).toEqual([])
  },
  120_000,
)

test('the logs before the creation of a position are not needed', async () => {
  const pruned: RpcAnswer = { error: { code: 4_444, message: 'pruned history unavailable' } }
  const { requests } = await read(nodeOf(Infinity, pruned, createdAt - 5))
  expect(requests).toBeLessThan(100)
}, 120_000)

test.each([1, 2])(
  'where nodes refuse usual ranges, logs are read vault by vault in ranges that begin with one block: %i vaults',
  async (number) => {
    const [read, created] = [100_000, 99_000]
    const ids = [7n, 8n].slice(0, number)
    const all = ids.flatMap((one, index) => {
      const topic = numberToHex(one, { size: 32 })
      const topics = [padHex(zeroAddress, { size: 32 }), padHex(stranger, { size: 32 }), topic]
      const at = created + 100 * index
      return [
        logOf(at, 'Transfer(address,address,uint256)', topics),
        logOf(at + 1, `Increase${changed}`, [topic], 100n, 50n, 50n),
        logOf(at + 2, `Decrease${changed}`, [topic], 40n, 5n, 2n),
      ]
    })
    let requests = 0
    const proxy = await startProxy('http://127.0.0.1:9', ({ method, params }) => {
      if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
      if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: headerOf(params[0] as Hex) })
      requests++
      const { blockHash, fromBlock, toBlock, topics } = params[0] as {
        blockHash?: Hex
        fromBlock: Hex
        toBlock: Hex
        topics: (Hex | Hex[] | null)[]
      }
      // Its hash is its number.
      const [from, to] = [Number(blockHash ?? fromBlock), Number(blockHash ?? toBlock)]
      const isJoint = topics.some(
        (some) => Array.isArray(some) && some.length === 2 && some.every((one) => /^0x0+\d$/.test(one)),
      )
      if (isJoint || to - from >= 64) return Promise.resolve(unknown)
      const result = all.filter((log) => {
        const fits = topics.every((some, place) => some === null || [some].flat().includes(log.topics[place] ?? '0x'))
        return fits && Number(log.blockNumber) >= from && Number(log.blockNumber) <= to
      })
      return Promise.resolve({ result })
    })
    const report = vi.fn()
    const faultTimes = { reportedAfter: 1, unexplainedReportedAfter: 1, givesUpAfter: 1, repeatedAfter: 60_000 }
    const impatientRpc = connectRpc(
      { chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 100_000 }] },
      {
        report,
        signal: new AbortController().signal,
        retry: { firstMilliseconds: 1, maxMilliseconds: 2, faultTimes },
        givesUp: true,
        onLastingFault: () => undefined,
      },
    )
    impatientRpc.newest.note({ number: read + 1_000 })
    const venues = new Venues([nftPositions({ address: manager, pools: new Pools(), isSlipstream: false, prefix: '' })])
    const vaultOf = (one: string): Address => `0x${one.padStart(40, '0')}`
    const positions = new Map(ids.map((one) => [String(one), stored]))
    const states = await readPositionStates({ impatientRpc, venues, report, vaultOf }, read, positions)
    await proxy.close()
    expect(states).toEqual(new Map(ids.map((one) => [String(one), { liquidity: 60n, freed: [5n, 2n] }])))
    expect(requests).toBeLessThan(400 * number)
  },
  60_000,
)
