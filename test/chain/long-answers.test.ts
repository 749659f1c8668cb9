import { type BaseError, type Hex, numberToHex, RpcRequestError } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { RequestFailed } from '../../src/chain/errors.ts'
import { readLogRange } from '../../src/chain/rpc/log-ranges.ts'
import { connectNode } from '../../src/chain/rpc/node.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { startProxy } from './support/proxy.ts'

const hashOf = (number: number): Hex => numberToHex(number, { size: 32 })

/** Numbers of logs by block: one block has more than a node returns for a range. */
const blocks = new Map([
  [1_010, 1],
  [1_100, 120],
  [1_101, 1],
  [1_300, 1],
])
const logs = [...blocks].flatMap(([number, count]) =>
  Array.from({ length: count }, (_, index) => ({
    address: numberToHex(0xa0, { size: 20 }),
    topics: [],
    data: '0x',
    blockNumber: numberToHex(number),
    blockHash: hashOf(number),
    transactionHash: numberToHex(1_000 * number + index, { size: 32 }),
    transactionIndex: numberToHex(index),
    logIndex: numberToHex(index),
  })),
)

let close: () => Promise<void> = () => Promise.resolve()
afterEach(() => close())

/** Connects to a node that truncates the logs of ranges. */
async function connectCutting(cut: (found: typeof logs) => typeof logs) {
  const proxy = await startProxy('http://127.0.0.1:9', ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: headerOf(Number(params[0])) })
    const { fromBlock, toBlock, blockHash } = params[0] as { fromBlock?: Hex; toBlock?: Hex; blockHash?: Hex }
    if (blockHash !== undefined) return Promise.resolve({ result: logs.filter((log) => log.blockHash === blockHash) })
    const isWithin = (number: number): boolean => number >= Number(fromBlock) && number <= Number(toBlock)
    return Promise.resolve({ result: cut(logs.filter(({ blockNumber }) => isWithin(Number(blockNumber)))) })
  })
  close = () => proxy.close()
  const rpc = connectRpc(
    { chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 100_000 }] },
    { report: () => undefined, signal: new AbortController().signal, givesUp: true, onLastingFault: () => undefined },
  )
  // Of the newest blocks logs are not read in ranges.
  rpc.newest.note({ number: 10_000 })
  return { rpc, takeCounts: proxy.takeCounts }
}

const headerOf = (number: number): object => ({
  number: numberToHex(number),
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: numberToHex(number),
  logsBloom: `0x${'0'.repeat(512)}`,
})

test.each([
  ['oldest', (found: typeof logs) => found.slice(0, 100)],
  ['newest', (found: typeof logs) => found.slice(-100)],
])('all logs are read from a node that returns the %s 100 of a range, which are of one block', async (_which, cut) => {
  const { rpc } = await connectCutting(cut)
  const found = await readLogRange(rpc, [{}], 1_000, 1_500)
  expect(found.map(({ txHash }) => txHash)).toEqual(logs.map(({ transactionHash }) => transactionHash))
})

test('few requests are made where a long response is complete', async () => {
  const { rpc, takeCounts } = await connectCutting((found) => found)
  expect(await readLogRange(rpc, [{}], 1_000, 1_500)).toHaveLength(logs.length)
  expect(takeCounts()['eth_getLogs']).toBe(3)
})

test.each([
  ['text', 'state '.repeat(200_000)],
  ['object', { text: 'method '.repeat(200_000) }],
  ['number', 17],
  ['nothing', undefined],
])('of the message of an error only a part is examined: %s', async (_what, message) => {
  const proxy = await startProxy('http://127.0.0.1:9', () =>
    Promise.resolve({ error: { code: -32_000, message: message as string } }),
  )
  close = () => proxy.close()
  const node = connectNode({ url: proxy.url, requestsPerSecond: 1_000 })
  const failure: unknown = await node.chainId().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RequestFailed)
  const answered = ((failure as RequestFailed).cause as BaseError).walk((one) => one instanceof RpcRequestError)
  expect((answered as RpcRequestError).details.length).toBeLessThanOrEqual(2_000)
  expect(node.explain(failure).reason).toMatch(/^answers eth_chainId with the error -32000/)
})
