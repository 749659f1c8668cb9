import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import type { RequestFailed } from '../../src/chain/errors.ts'
import { connectNode, type Node } from '../../src/chain/rpc/node.ts'
import { readLogRange } from '../../src/chain/rpc/log-ranges.ts'
import { RangeWidth } from '../../src/chain/rpc/nodes/range-width.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { type HttpAnswer, type Intercept, type RpcAnswer, startProxy } from './support/proxy.ts'

const hash = `0x${'ab'.repeat(32)}` as const
const nobody = `0x${'0'.repeat(40)}` as const
const limits = { timeoutMilliseconds: 30_000, maxAnswerBytes: 1_000_000 }
/** Short limits, for nodes whose responses do not end. */
const shortLimits = { ...limits, timeoutMilliseconds: 400 }
/** Longer than the timeout of a test. */
const endlessLimits = { ...limits, timeoutMilliseconds: 600_000 }
const jsonOf = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result })

afterEach(() => vi.restoreAllMocks())

/** Returns the explained error of a request to a node with these responses. */
async function faultOf(intercept: Intercept, send: (node: Node) => Promise<unknown>, within = limits): Promise<string> {
  const proxy = await startProxy('http://127.0.0.1:9', intercept)
  const node = connectNode({ url: proxy.url, requestsPerSecond: 10_000 }, within)
  try {
    const answer: unknown = await send(node)
    return `answered ${JSON.stringify(answer)}`
  } catch (error) {
    return node.explain(error).reason
  } finally {
    await proxy.close()
  }
}

const always =
  (answer: RpcAnswer | HttpAnswer): Intercept =>
  () =>
    Promise.resolve(answer)
const call = (node: Node): Promise<unknown> => node.call(nobody, '0x', hash)

test.each<[string, unknown, (node: Node) => Promise<unknown>]>([
  ['digits that are no hex', '0xzz', call],
  ['half a byte', '0x123', call],
  ['a number', 5, call],
  ['an object', { data: '0x' }, (node) => node.code(nobody, hash)],
  ['no list', {}, (node) => node.logsOf({}, hash)],
  ['a list of no logs', [5], (node) => node.logsOf({}, hash)],
  ['no block', [], (node) => node.block('latest')],
  ['a word as a number', 'mainnet', (node) => node.chainId()],
])('a node that answers with %s is at fault', async (_name, result, send) => {
  expect(await faultOf(always({ result }), send)).toMatch(/^gave /)
})

test('a node without the bytes of a call or of a contract is at fault with that', async () => {
  const nothing = always({ result: null })
  expect(await faultOf(nothing, call)).toBe('gave no bytes for a call')
  expect(await faultOf(nothing, (node) => node.code(nobody, hash))).toBe('gave no bytes for the code of a contract')
})

test('a node that answers with a batch of errors is at fault', async () => {
  const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'one of many' } }])
  expect(await faultOf(always({ status: 200, body }), call)).toMatch(/^gave /)
})

test.each([
  ['a result', { result: '0x1234' }],
  ['an error', { error: { code: 3, message: 'execution reverted' } }],
])('a node that answers with %s for another request is at fault', async (_name, answer) => {
  const body = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, ...answer })
  expect(await faultOf(always({ status: 200, body: body(77) }), call)).toBe('gave the answer to another request')
  for (const id of [undefined, null, 1, '1']) {
    expect(await faultOf(always({ status: 200, body: body(id) }), call)).toMatch(
      'result' in answer ? /^answered/ : /reverted$/,
    )
  }
})

test('the time limit of a response without end is that of a response that does not begin', async () => {
  const answer = always({ status: 200, body: '{"jsonrpc"', stalls: true })
  expect(await faultOf(answer, call, shortLimits)).toBe("doesn't answer in time")
})

test('an HTTP error whose body does not end is reported by its status when the time limit is over', async () => {
  const headers = { 'content-type': 'text/plain' }
  const reason = await faultOf(always({ status: 500, body: 'no', stalls: true, headers }), call, shortLimits)
  expect(reason).toBe('answers with HTTP 500: no')
})

test.each<[string, HttpAnswer]>([
  ['long', { status: 200, body: jsonOf(`0x${'00'.repeat(1_000_000)}`) }],
  [
    'long once it is unpacked',
    {
      status: 200,
      body: gzipSync(jsonOf(`0x${'00'.repeat(10_000_000)}`)),
      headers: { 'content-encoding': 'gzip' },
    },
  ],
])('an answer that is too %s is not read', async (_name, answer) => {
  expect(await faultOf(always(answer), call)).toBe('gave an answer of more than 1000000 bytes')
})

test('a long answer with an error status is read in part', async () => {
  const endless = { status: 500, body: 'no '.repeat(100_000), stalls: true }
  const reason = await faultOf(always(endless), call, endlessLimits)
  expect(reason).toMatch(/^answers with HTTP 500: no no /)
  expect(reason.length).toBeLessThan(300)
})

test('a range of logs whose answer is too long is narrowed at once', async () => {
  const log = {
    address: nobody,
    topics: [],
    data: `0x${'00'.repeat(10_000)}`,
    blockHash: hash,
    transactionHash: hash,
  }
  const proxy = await startProxy('http://127.0.0.1:9', ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: headerOf(params[0] as string) })
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => `0x${(from + index).toString(16)}`)
    return Promise.resolve({ result: numbers.map((blockNumber) => ({ ...log, blockNumber, logIndex: blockNumber })) })
  })
  const report = vi.fn()
  const rpc = rpcOf([proxy.url], report)
  // Of the newest blocks logs are not read in ranges.
  rpc.newest.note({ number: 1_000 })
  const found = await readLogRange(rpc, [{}], 1, 200, new RangeWidth())
  await proxy.close()
  expect(found.length).toBe(200)
  expect(report).not.toHaveBeenCalled()
})

test.each([
  [-32_614, 'eth_getLogs is limited to a 10,000 range'],
  [-32_615, 'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range'],
  [-32_602, 'exceed maximum block range: 50000'],
  [-32_602, 'block range greater than 500 max'],
  [-32_005, 'Requested range exceeds maximum range limit'],
  [-32_005, 'requested block range 1000 exceeds the maximum of 20'],
  [-32_005, 'Block range limit exceeded. See more details at https://docs.node.example/limits#ranges'],
  [-32_000, 'Too large block range, you can make eth_getLogs requests with up to a 500 block range'],
  [-32_000, 'exceeded max block range: 500'],
  [-32_000, 'query exceeded max results 20000'],
  [-32_000, 'eth_getLogs block range exceeds limit'],
])('a range that a node refuses for its width is narrowed at once, with the error %i, %s', async (code, message) => {
  expect(await refusalOf({ error: { code, message } })).toEqual({ isRefused: true, blocks: 8 })
})

test.each([
  [-32_000, 'block range extends beyond current head block'],
  [-32_602, 'invalid block range params'],
  [-32_000, 'block number out of range, maximum 123'],
  [-32_000, 'the logs of this range are pruned'],
])('a range that a node refuses otherwise is requested again later, with the error %i, %s', async (code, message) => {
  expect(await refusalOf({ error: { code, message } })).toEqual({ isRefused: false, blocks: 8 })
})

/** Returns the effect of a node's refusal of 16 blocks on the width of the next range. */
async function refusalOf(answer: RpcAnswer): Promise<{ isRefused: boolean; blocks: number }> {
  const proxy = await startProxy('http://127.0.0.1:9', always(answer))
  const node = connectNode({ url: proxy.url, requestsPerSecond: 10_000 }, limits)
  const error = await node.logsIn({}, 1, 16).catch((one: unknown) => one)
  await proxy.close()
  const width = new RangeWidth(16)
  return { isRefused: width.shrink((error as RequestFailed).cause, 16), blocks: width.blocks }
}

test.each([301, 302, 307, 308])('a redirection with HTTP %i is followed', async (status) => {
  const moved = await startProxy('http://127.0.0.1:9', always({ result: '0x1234' }))
  const redirect = { status, body: 'moved', headers: { location: `${moved.url}/node` } }
  expect(await faultOf(always(redirect), call)).toBe('answered "0x1234"')
  expect(moved.takeCounts()).toEqual({ eth_call: 1 })
  await moved.close()
})

test('a node with a redirection loop, or a redirection without a location, has no JSON-RPC at its url', async () => {
  const redirects: HttpAnswer[] = [
    { status: 308, body: '', headers: { location: '/' } },
    { status: 301, body: '' },
    { status: 301, body: '', headers: { location: 'http://[' } },
  ]
  for (const redirect of redirects) {
    const proxy = await startProxy('http://127.0.0.1:9', always(redirect))
    const node = connectNode({ url: proxy.url, requestsPerSecond: 10_000 }, limits)
    const error: unknown = await call(node).catch((one: unknown) => one)
    expect(node.explain(error).lasting?.problem).toBe('has no JSON-RPC at its url')
    await proxy.close()
  }
})

test('the credentials in the url of a node are not sent to another host by a redirection', async () => {
  const seen: (string | undefined)[] = []
  const moved = createServer((request, response) => {
    seen.push(request.headers.authorization)
    const isHere = request.url === '/here'
    response.writeHead(isHere ? 200 : 307, isHere ? {} : { location: '/here' }).end(jsonOf('0x'))
  })
  await new Promise<void>((resolve) => moved.listen(0, '127.0.0.1', resolve))
  const { port } = moved.address() as AddressInfo
  const proxy = await startProxy(
    'http://127.0.0.1:9',
    always({ status: 301, body: '', headers: { location: `http://127.0.0.1:${port}/` } }),
  )
  for (const url of [proxy.url, `http://127.0.0.1:${port}`]) {
    await call(connectNode({ url: url.replace('//', '//user:secret@'), requestsPerSecond: 10_000 }, limits))
  }
  const own = `Basic ${btoa('user:secret')}`
  expect(seen).toEqual([undefined, undefined, own, own])
  await Promise.all([proxy.close(), new Promise((resolve) => moved.close(resolve))])
})

test('a paused node gets no request for its chain id until its pause is over', async () => {
  let rests = true
  const proxy = await startProxy('http://127.0.0.1:9', () => {
    if (rests) return Promise.resolve({ status: 503, body: 'no', headers: { 'retry-after': '60' } })
    return Promise.resolve({ result: '0x2' })
  })
  const rpc = rpcOf([proxy.url])
  await expect(rpc.nodes[0]?.chainId()).rejects.toThrow()
  proxy.takeCounts()
  await rpc.checkChain()
  expect(proxy.takeCounts()).toEqual({})
  rests = false
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000)
  await expect(rpc.checkChain()).rejects.toThrow('is of chain 2')
  expect(proxy.takeCounts()).toEqual({ eth_chainId: 1 })
  await proxy.close()
})

test('a node that does not answer in time is used after the others for a minute', async () => {
  const silent = await startProxy('http://127.0.0.1:9', () => new Promise(() => undefined))
  const other = await startProxy('http://127.0.0.1:9', ({ method }) =>
    Promise.resolve({ result: method === 'eth_chainId' ? '0x1' : '0x1234' }),
  )
  const report = vi.fn()
  const rpc = rpcOf([silent.url, other.url], report, shortLimits)
  for (let request = 0; request < 8; request++) expect(await rpc.ask(call)).toBe('0x1234')
  await rpc.checkChain()
  expect(silent.takeCounts()).toEqual({ eth_chainId: 1 })
  const { host: node } = new URL(silent.url)
  const message = "A node doesn't answer in time: the others are used first"
  expect(report.mock.calls).toEqual([['warn', message, { node }]])
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000)
  for (let request = 0; request < 8; request++) expect(await rpc.ask(call)).toBe('0x1234')
  expect(silent.takeCounts()).toEqual({ eth_chainId: 1 })
  expect(report).toHaveBeenCalledTimes(1)
  await Promise.all([silent.close(), other.close()])
})

test('of a node that did not answer in time, the chain ID is verified again before its next use', async () => {
  let chainId = '0x1'
  let isSilent = false
  const proxy = await startProxy('http://127.0.0.1:9', ({ method }) => {
    if (isSilent) return new Promise(() => undefined)
    return Promise.resolve({ result: method === 'eth_chainId' ? chainId : '0x1234' })
  })
  const rpc = rpcOf([proxy.url], vi.fn(), shortLimits)
  expect(await rpc.ask(call)).toBe('0x1234')
  isSilent = true
  const next = rpc.ask((node) => call(node).finally(() => ((isSilent = false), (chainId = '0x2'))))
  await expect(next).rejects.toThrow('is of chain 2')
  await proxy.close()
})

const headerOf = (number: string): object => ({
  number,
  hash,
  parentHash: hash,
  timestamp: '0x65000000',
  logsBloom: `0x${'0'.repeat(512)}`,
})

function rpcOf(urls: readonly string[], report = vi.fn(), within = limits) {
  const retry = { firstMilliseconds: 1, maxMilliseconds: 2 }
  return connectRpc(
    { chainId: 1, rpc: urls.map((url) => ({ url, requestsPerSecond: 10_000 })) },
    {
      ...{ report, signal: new AbortController().signal, retry, limits: within },
      ...{ givesUp: true, onLastingFault: () => undefined },
    },
  )
}
