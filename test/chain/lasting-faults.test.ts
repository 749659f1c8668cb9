import { expect, test, vi } from 'vitest'
import { ChainUnreadable } from '../../src/chain/errors.ts'
import { chainFeed } from '../../src/chain/feed.ts'
import { readmeExample } from './support/example.ts'
import { type HttpAnswer, type Intercept, type RpcAnswer, startProxy } from './support/proxy.ts'
import { type ChainJson, linesOf, optionsOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

const key = 'k3y-0123456789abcdef'
const hash = `0x${'ab'.repeat(32)}`
const error = (code: number, message: string): RpcAnswer => ({ error: { code, message } })
const header = (number: unknown): unknown => ({
  number: number === 'finalized' ? '0x1312d00' : number,
  hash,
  parentHash: hash,
  timestamp: '0x65000000',
  logsBloom: `0x${'0'.repeat(512)}`,
})

const jsonOf = (...urls: string[]): ChainJson => ({
  ...readmeExample(),
  rpc: urls.map((url) => ({ url, requestsPerSecond: 10_000 })),
})

/** Returns a node with this response to requests for state, and valid responses to requests for blocks. */
const answering =
  (ofState: RpcAnswer | HttpAnswer): Intercept =>
  ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: header(params[0]) })
    return Promise.resolve(ofState)
  }

/** Returns a node with this response to requests for the block with the tag "finalized". */
const withoutFinalized =
  (answer: RpcAnswer): Intercept =>
  ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    return Promise.resolve(params[0] === 'finalized' ? answer : { result: header(params[0]) })
  }

/** Starts proxies without a node behind them; their URLs contain a key. */
async function nodes(...intercepts: Intercept[]) {
  const proxies = await Promise.all(intercepts.map((intercept) => startProxy('http://127.0.0.1:9', intercept)))
  return {
    urls: proxies.map(({ url }) => `${url}/v2/${key}?token=${key}`),
    hosts: proxies.map(({ url }) => new URL(url).host),
    close: () => Promise.all(proxies.map((proxy) => proxy.close())),
  }
}

/** Reads nodes, with short times for lasting faults, until one answers that a contract has no code. */
function readUntilCodeIsMissing(urls: readonly string[]): {
  readonly messages: ReaderMessage[]
  /** Lasting faults as they are reported; null where one has passed. */
  readonly problems: (string | null)[]
  readonly ended: Promise<void>
} {
  const [messages, problems]: [ReaderMessage[], (string | null)[]] = [[], []]
  const options = optionsOf(jsonOf(...urls), { messages })
  const retry = { ...options.retry, faultTimes: shortFaultTimes }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  const ended = expect(facts[Symbol.asyncIterator]().next()).rejects.toThrow('has no code at block')
  return { messages, problems, ended }
}

/** Runs a reader that does not follow the chain; returns the error that ends it, and its log messages. */
async function endOf(...intercepts: Intercept[]): Promise<{ message: string; messages: ReaderMessage[] }> {
  const { urls, hosts, close } = await nodes(...intercepts)
  const messages: ReaderMessage[] = []
  const ended: unknown = await linesOf(jsonOf(...urls), messages, shortFaultTimes).catch((thrown: unknown) => thrown)
  await close()
  expect(ended).toBeInstanceOf(ChainUnreadable)
  const names = (text: string): string => hosts.reduce((all, host, index) => all.replaceAll(host, `node${index}`), text)
  return { message: names((ended as Error).message), messages }
}

const always =
  (answer: RpcAnswer | HttpAnswer): Intercept =>
  () =>
    Promise.resolve(answer)

test.each<[string, Intercept, string]>([
  [
    'its key is refused',
    always({ status: 401, body: `{"error":"invalid project id ${key}"}` }),
    'the node node0 refuses access: it answers with HTTP 401: {"error":"invalid project id [hidden]"}. Check the key in its url, and whether the plan of that key covers this chain',
  ],
  [
    'it is forbidden, as a JSON-RPC error',
    always({ status: 403, body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_600, message: 'Nope' } }) }),
    'the node node0 refuses access: it answers with HTTP 403: ',
  ],
  [
    'a JSON-RPC error says that the key is missing',
    always(error(-32_000, 'Unauthorized: You must authenticate your request with an API key')),
    'the node node0 refuses access: it answers eth_chainId with the error -32000: Unauthorized: You must',
  ],
  [
    'there is no node',
    always({ status: 404, body: 'nothing' }),
    'the node node0 has no JSON-RPC at its url: it answers',
  ],
  [
    'it lacks a method',
    answering(error(-32_601, 'the method eth_getCode does not exist/is not available')),
    'the node node0 lacks a method that is needed: it answers eth_getCode with the error -32601: ',
  ],
  [
    'it lacks old states, as geth',
    answering(error(-32_000, `missing trie node ${'ab'.repeat(32)} (path 01) state 0xab is not available`)),
    'the node node0 lacks the state of the blocks to read: it answers eth_getCode with the error -32000: missing trie node',
  ],
  [
    'it lacks old states, in other words',
    answering(error(-32_000, 'header not found')),
    "header not found. Name an archive node: a vault's history needs one",
  ],
  [
    'it lacks old states, as anvil',
    answering(error(-32_602, 'BlockOutOfRangeError: block height is 20667 but requested was 300')),
    'the node node0 lacks the state of the blocks to read: it answers eth_getCode with the error -32602: BlockOutOf',
  ],
  [
    'it takes no block hash, as old geth',
    answering(error(-32_602, 'invalid argument 1: json: cannot unmarshal object into Go value of type string')),
    "the node node0 takes no requests by a block's hash (EIP-1898): it answers eth_getCode with the error -32602: ",
  ],
  [
    'it takes no block hash, in other words',
    answering(error(-32_602, 'Invalid params')),
    "the node node0 takes no requests by a block's hash (EIP-1898): ",
  ],
  [
    'it answers with an error that nobody knows',
    answering(error(-32_000, `computer says no to https://node.example/${key}`)),
    'the node node0 answers with errors only: it answers eth_getCode with the error -32000: computer says no to [url]. Look',
  ],
  [
    'it does not know the tag "finalized"',
    withoutFinalized(error(-32_602, 'invalid argument 0: hex string without 0x prefix')),
    'the node node0 names no block as "finalized": it answers eth_getBlockByNumber for the block "finalized" with the error -32602: invalid argument 0: hex string without 0x prefix. Set the file\'s finality to a number of blocks',
  ],
  [
    'it has no block with the tag "finalized"',
    withoutFinalized(error(-39_001, 'Unknown block')),
    'the node node0 names no block as "finalized": it answers eth_getBlockByNumber for the block "finalized" with the error -39001: Unknown block. Set the file\'s finality to a number of blocks',
  ],
  [
    'it answers null for the tag "finalized"',
    withoutFinalized({ result: null }),
    'the node node0 names no block as "finalized": it gave null for the block "finalized". Set the file\'s finality to a number of blocks, or name a node that serves this tag and is in sync',
  ],
  [
    'its answers make no sense',
    answering({ result: 5 }),
    "the node node0 answers with errors only: it gave no bytes for the code of a contract. Look for the error in its provider's",
  ],
])('a reader that follows nothing ends where %s', async (_name, intercept, words) => {
  const { message, messages } = await endOf(intercept)
  expect(message).toMatch(/^The chain couldn't be read for \d+ s: /)
  expect(message).toContain(words)
  const all = JSON.stringify([message, messages])
  expect(all).not.toContain(key)
  expect(all).not.toMatch(/double check|viem|docs|version|request body|url: http/i)
  // One line when it begins, and one when it is known to last.
  expect(messages.map(({ level }) => level)).toEqual(['warn', 'error'])
  expect(messages[1]?.message).toMatch(/^The chain can't be read: the node /)
})

test('names all nodes and their faults', async () => {
  const { message } = await endOf(always({ status: 401, body: '' }), always({ status: 404, body: '' }))
  expect(message).toContain('the node node0 refuses access: it answers with HTTP 401: Unauthorized. ')
  expect(message).toContain('the node node1 has no JSON-RPC at its url: it answers with HTTP 404: Not Found. ')
})

test.each<[string, RpcAnswer | HttpAnswer | 'drop', string]>([
  ['an outage', 'drop', "can't be reached: "],
  ['a server that is down', { status: 502, body: '<html>' }, 'answers with HTTP 502: '],
  ['a rate limit', { status: 429, body: 'slower' }, 'answers with HTTP 429: '],
  [
    'a rate limit in words',
    error(-32_005, 'limit exceeded'),
    'answers eth_chainId with the error -32005: limit exceeded',
  ],
])('%s is waited for, and logged once', async (_name, answer, words) => {
  const { urls, close } = await nodes(() => Promise.resolve(answer))
  const [messages, stop, problems]: [ReaderMessage[], AbortController, unknown[]] = [[], new AbortController(), []]
  const options = optionsOf(jsonOf(...urls), { messages, signal: stop.signal })
  const retry = { ...options.retry, faultTimes: { ...shortFaultTimes, unexplainedReportedAfter: 60_000 } }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  const ended = facts[Symbol.asyncIterator]().next()
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  stop.abort()
  await expect(ended).rejects.toMatchObject({ name: 'AbortError' })
  expect(messages.map(({ message }) => message)).toEqual(['The chain is waited for'])
  expect(messages[0]?.facts['reason']).toContain(words)
  expect(problems).toEqual([])
  await close()
})

test.each<[string, RpcAnswer | HttpAnswer, string]>([
  ['an HTTP status', { status: 429, body: 'slower' }, 'answers with HTTP 429: slower'],
  [
    'an HTTP status and a time to rest',
    { status: 429, body: 'slower', headers: { 'retry-after': '0.2' } },
    'answers with HTTP 429: slower',
  ],
  ['an error', error(-32_005, 'daily request count exceeded'), 'the error -32005: daily request count exceeded'],
])(
  'an exhausted quota, signalled by %s, is reported after a long time, and waited for',
  async (_name, refusal, words) => {
    let answer = refusal
    const { urls, close } = await nodes((request, pass) =>
      answer === refusal ? Promise.resolve(refusal) : answering(answer)(request, pass),
    )
    const { messages, problems, ended } = readUntilCodeIsMissing(urls)
    const problem = 'a node limits the rate of requests, or its quota is used up'
    await vi.waitFor(() => expect(problems).toEqual([problem]), { timeout: 5_000 })
    // Longer than the time limit of any other fault.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    answer = { result: '0x' }
    await ended
    expect(problems).toEqual([problem, null])
    expect(messages.map(({ message }) => message)).toEqual([
      'The chain is waited for',
      expect.stringContaining(words),
      'The chain answers again',
    ])
    await close()
  },
)

test('an error with an incomplete body is reported by its status', async () => {
  const body = `{"error":"invalid project id`
  const { message } = await endOf(always({ status: 401, body, headers: { 'content-length': '1000' }, breaksOff: true }))
  expect(message).toContain('the node node0 refuses access: it answers with HTTP 401: ')
})

test('a response with a status that permits no body is an error like any other', async () => {
  const { message } = await endOf(always({ status: 304, body: '' }))
  expect(message).toContain('the node node0 answers with errors only: it answers with HTTP 304')
})

test('a reader that follows a chain reports when a fault lasts, and when it ends', async () => {
  let answer: RpcAnswer | HttpAnswer = { status: 401, body: '' }
  const { urls, close } = await nodes((request, pass) => {
    if (!('status' in answer)) return answering(answer)(request, pass)
    return Promise.resolve(answer)
  })
  const [messages, stop, problems]: [ReaderMessage[], AbortController, unknown[]] = [[], new AbortController(), []]
  const options = optionsOf(jsonOf(...urls), { messages, signal: stop.signal, once: false })
  const retry = { ...options.retry, faultTimes: shortFaultTimes }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  // In the end it finds no contracts.
  const ended = expect(facts[Symbol.asyncIterator]().next()).rejects.toThrow('has no code at block')
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access']), { timeout: 5_000 })
  await new Promise((resolve) => setTimeout(resolve, 500))
  answer = { result: '0x' }
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access', null]), { timeout: 5_000 })
  expect(messages.map(({ message }) => message)).toEqual([
    'The chain is waited for',
    expect.stringMatching(/^The chain can't be read: the node \S+ refuses access: /),
    'The chain answers again',
  ])
  await ended
  stop.abort()
  await close()
})

test('of two nodes, one that refuses access and one that is unreachable are both reported, and waited for', async () => {
  let isAway = true
  const intercept: Intercept = (request, pass) =>
    isAway ? Promise.resolve('drop') : answering({ result: '0x' })(request, pass)
  const { urls, close } = await nodes(always({ status: 401, body: '' }), intercept)
  const { messages, problems, ended } = readUntilCodeIsMissing(urls)
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access, and a node is away']), { timeout: 5_000 })
  // Longer than for nodes that all refuse: an unreachable one may come back.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  isAway = false
  await ended
  expect(problems).toEqual(['a node refuses access, and a node is away', null])
  const errors = messages.filter(({ level }) => level === 'error').map(({ message }) => message)
  expect(errors).toEqual([
    expect.stringMatching(/^The chain can't be read: the node \S+ refuses access: .+; the node \S+ can't be reached: /),
  ])
  await close()
})

test('warns once of an unusable node, where another one responds', async () => {
  const { urls, close } = await nodes(always({ status: 401, body: '' }), answering({ result: '0x' }))
  const messages: ReaderMessage[] = []
  const read = linesOf(jsonOf(...urls), messages, shortFaultTimes)
  await expect(read).rejects.toThrow('has no code at block')
  expect(messages).toEqual([
    {
      level: 'warn',
      message: expect.stringMatching(
        /^Another node is used instead: the node \S+ refuses access: it answers/,
      ) as string,
      facts: {},
    },
  ])
  await close()
})
