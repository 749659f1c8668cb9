import type { Hex } from 'viem'
import { expect, test, vi } from 'vitest'
import { Contradiction } from '../../src/chain/errors.ts'
import { readLogRange, readNewestLogs } from '../../src/chain/rpc/log-ranges.ts'
import { RangeWidth } from '../../src/chain/rpc/nodes/range-width.ts'
import { connectRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { type Intercept, type RpcAnswer, startProxy } from './support/proxy.ts'

const newest = 1_000
/** A filter that matches all logs. */
const any = [{}]

/** Returns a header without a bloom filter, so that the logs of each block are requested. */
function headerOf(number: Hex, fork = 'aa') {
  const hashOf = (at: number): Hex => `0x${fork}${at.toString(16).padStart(62, '0')}`
  const hash = hashOf(Number(number))
  const parentHash = hashOf(Number(number) - 1)
  return { result: { number, hash, parentHash, timestamp: '0x65000000', logsBloom: `0x${'0'.repeat(512)}` } }
}

/** Returns the response of a node with an empty chain. */
function answerOf(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
  if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
  if (method === 'eth_getBlockByNumber') return Promise.resolve(headerOf(params[0] as Hex))
  return Promise.resolve({ result: [] })
}

/** Connects to a node twice: by a connection that is aborted early, and by one that is not. */
async function withNode(
  intercept: Intercept,
  use: (rpc: Rpc, impatientRpc: Rpc, takeCounts: () => Record<string, number>) => Promise<void>,
): Promise<void> {
  const proxy = await startProxy('http://127.0.0.1:9', intercept)
  const connect = (givesUp: boolean, of?: Rpc): Rpc =>
    connectRpc(
      { chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 100_000 }] },
      {
        report: vi.fn(),
        signal: new AbortController().signal,
        retry: {
          firstMilliseconds: 1,
          maxMilliseconds: 2,
          faultTimes: { reportedAfter: 10, unexplainedReportedAfter: 50, givesUpAfter: 50, repeatedAfter: 60_000 },
        },
        givesUp,
        onLastingFault: () => undefined,
        ...(of && { newest: of.newest }),
      },
    )
  const rpc = connect(false)
  rpc.newest.note({ number: newest })
  try {
    await use(rpc, connect(true, rpc), () => proxy.takeCounts())
  } finally {
    await proxy.close()
  }
}

test('readers of the same blocks at once share their headers', async () => {
  await withNode(
    ({ method, params }) => answerOf(method, params),
    async (rpc, _, takeCounts) => {
      await Promise.all(Array.from({ length: 5 }, () => readLogRange(rpc, any, newest - 20, newest)))
      expect(takeCounts()).toMatchObject({ eth_getBlockByNumber: 21 })
    },
  )
})

test('a header whose request one reader cancels is read by another one', async () => {
  let fails = true
  await withNode(
    ({ method, params }) => {
      const isRefused = fails && method === 'eth_getBlockByNumber'
      return isRefused ? Promise.resolve({ error: { code: -32_000, message: 'nope' } }) : answerOf(method, params)
    },
    async (rpc, impatientRpc) => {
      const impatient = readLogRange(impatientRpc, any, newest, newest)
      const patient = readLogRange(rpc, any, newest, newest)
      await expect(impatient).rejects.toThrow("The chain couldn't be read")
      fails = false
      expect(await patient).toEqual([])
      expect(await readLogRange(impatientRpc, any, newest, newest)).toEqual([])
    },
  )
})

test('logs of one block and filter are read once, unless they could not be read', async () => {
  let answers = false
  await withNode(
    ({ method, params }) => {
      const isRefused = !answers && method === 'eth_getLogs'
      return isRefused ? Promise.resolve({ error: { code: -32_000, message: 'nope' } }) : answerOf(method, params)
    },
    async (rpc, impatientRpc, takeCounts) => {
      await expect(readLogRange(impatientRpc, any, newest, newest)).rejects.toThrow("The chain couldn't be read")
      answers = true
      takeCounts()
      // An empty response is requested a second time: a node may have a block before its receipts.
      const readers = Array.from({ length: 3 }, () => readLogRange(rpc, any, newest - 20, newest))
      await Promise.all(readers)
      expect(takeCounts()).toMatchObject({ eth_getLogs: 2 * 21 })
      await readLogRange(rpc, any, newest - 20, newest)
      expect(takeCounts()).toEqual({})
      await readLogRange(rpc, any, newest - 25, newest)
      expect(takeCounts()).toMatchObject({ eth_getLogs: 2 * 5 })
      await readLogRange(rpc, [{ topics: [`0x${'1'.repeat(64)}`] }], newest - 1, newest)
      expect(takeCounts()).toEqual({ eth_getLogs: 2 * 2 })
    },
  )
})

test('logs that the first response for a block lacks are read', async () => {
  const requested = new Set<string>()
  const transactionHash = `0x${'5'.repeat(64)}`
  await withNode(
    ({ method, params }) => {
      if (method !== 'eth_getLogs') return answerOf(method, params)
      const { blockHash } = params[0] as { blockHash: Hex }
      const isFirst = !requested.has(blockHash)
      requested.add(blockHash)
      const blockNumber = `0x${BigInt(`0x${blockHash.slice(4)}`).toString(16)}`
      const log = { address: `0x${'1'.repeat(40)}`, topics: [], data: '0x', blockNumber, blockHash, transactionHash }
      return Promise.resolve({ result: isFirst ? [] : [{ ...log, logIndex: '0x0' }] })
    },
    async (rpc) => {
      const readers = [1, 2].map(() => readLogRange(rpc, any, newest - 9, newest))
      for (const logs of await Promise.all(readers)) expect(logs).toHaveLength(10)
    },
  )
})

test.each([newest - 30, newest - 1, newest])('a header of block %i of another fork is requested again', async (odd) => {
  let isTold = false
  const requested = new Set<string>()
  await withNode(
    ({ method, params }) => {
      if (method === 'eth_getLogs') requested.add((params[0] as { blockHash: string }).blockHash)
      if (method !== 'eth_getBlockByNumber' || isTold || Number(params[0]) !== odd) return answerOf(method, params)
      isTold = true
      return Promise.resolve(headerOf(params[0] as Hex, 'bb'))
    },
    async (rpc) => {
      const read = () => readLogRange(rpc, any, newest - 40, newest)
      // The header of the last block has no later one to be compared with.
      await read().catch((error: unknown) => {
        expect(error).toBeInstanceOf(Contradiction)
        return read()
      })
      expect(isTold).toBe(true)
      expect([...requested].filter((hash) => hash.startsWith('0xbb'))).toEqual([])
      expect(requested.size).toBe(41)
    },
  )
})

test('of blocks that are read one by one, the newest are read first', async () => {
  await withNode(
    ({ method, params }) => answerOf(method, params),
    async (rpc, _, takeCounts) => {
      const { from } = await readNewestLogs(rpc, any, newest, new RangeWidth())
      expect(from).toBeGreaterThan(newest - 16)
      expect(takeCounts()).toMatchObject({ eth_getLogs: 2 * (newest - from + 1) })
    },
  )
})
