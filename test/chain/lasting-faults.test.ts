import { expect, test, vi } from 'vitest'
import { ChainUnreadable } from '../../src/chain/errors.ts'
import { chainFeed } from '../../src/chain/feed.ts'
import { readmeExample } from './support/example.ts'
import { type HttpAnswer, type Meddle, type RpcAnswer, startProxy } from './support/proxy.ts'
import { type ChainJson, linesOf, optionsOf, type Said, shortFaultTimes } from './support/reading.ts'

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

/** A node that answers with this where it is asked for state, and rightly where it is asked for blocks. */
const answering =
  (ofState: RpcAnswer | HttpAnswer): Meddle =>
  ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: header(params[0]) })
    return Promise.resolve(ofState)
  }

/** Starts nodes that are no more than proxies; their URLs have a key. */
async function nodes(...meddles: Meddle[]) {
  const proxies = await Promise.all(meddles.map((meddle) => startProxy('http://127.0.0.1:9', meddle)))
  return {
    urls: proxies.map(({ url }) => `${url}/v2/${key}?token=${key}`),
    hosts: proxies.map(({ url }) => new URL(url).host),
    close: () => Promise.all(proxies.map((proxy) => proxy.close())),
  }
}

/** The error that ends a reader which doesn't follow the chain, and its log. */
async function endOf(...meddles: Meddle[]): Promise<{ message: string; said: Said[] }> {
  const { urls, hosts, close } = await nodes(...meddles)
  const said: Said[] = []
  const ended: unknown = await linesOf(jsonOf(...urls), said, shortFaultTimes).catch((thrown: unknown) => thrown)
  await close()
  expect(ended).toBeInstanceOf(ChainUnreadable)
  const names = (text: string): string => hosts.reduce((all, host, index) => all.replaceAll(host, `node${index}`), text)
  return { message: names((ended as Error).message), said }
}

const always =
  (answer: RpcAnswer | HttpAnswer): Meddle =>
  () =>
    Promise.resolve(answer)

test.each<[string, Meddle, string]>([
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
    'its answers make no sense',
    answering({ result: 5 }),
    "the node node0 answers with errors only: it gave no bytes for a call. Look for the error in its provider's",
  ],
])('a reader that follows nothing ends where %s', async (_name, meddle, words) => {
  const { message, said } = await endOf(meddle)
  expect(message).toMatch(/^The chain couldn't be read for \d+ s: /)
  expect(message).toContain(words)
  const all = JSON.stringify([message, said])
  expect(all).not.toContain(key)
  expect(all).not.toMatch(/double check|viem|docs|version|request body|url: http/i)
  // One line when it begins, and one when it is known to last.
  expect(said.map(({ level }) => level)).toEqual(['warn', 'error'])
  expect(said[1]?.message).toMatch(/^The chain can't be read: the node /)
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
  const [said, stop, problems]: [Said[], AbortController, unknown[]] = [[], new AbortController(), []]
  const options = optionsOf(jsonOf(...urls), { said, signal: stop.signal })
  const retry = { ...options.retry, faultTimes: { ...shortFaultTimes, unexplainedReportedAfter: 60_000 } }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  const ended = facts[Symbol.asyncIterator]().next()
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  stop.abort()
  expect(await ended).toEqual({ done: true, value: undefined })
  expect(said.map(({ message }) => message)).toEqual(['The chain is waited for'])
  expect(said[0]?.facts['reason']).toContain(words)
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
])('a quota that is used up, told by %s, is told after a long time, and waited for', async (_name, refusal, words) => {
  let answer = refusal
  const { urls, close } = await nodes((request, pass) =>
    answer === refusal ? Promise.resolve(refusal) : answering(answer)(request, pass),
  )
  const [said, problems]: [Said[], (string | null)[]] = [[], []]
  const options = optionsOf(jsonOf(...urls), { said })
  const retry = { ...options.retry, faultTimes: shortFaultTimes }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  const ended = expect(facts[Symbol.asyncIterator]().next()).rejects.toThrow('has no code at block')
  const problem = 'a node limits the rate of requests, or its quota is used up'
  await vi.waitFor(() => expect(problems).toEqual([problem]), { timeout: 5_000 })
  // Longer than any other fault would be waited for.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  answer = { result: '0x' }
  await ended
  expect(problems).toEqual([problem, null])
  expect(said.map(({ message }) => message)).toEqual([
    'The chain is waited for',
    expect.stringContaining(words),
    'The chain answers again',
  ])
  await close()
})

test('an error whose body breaks off is told by its status', async () => {
  const body = `{"error":"invalid project id`
  const { message } = await endOf(always({ status: 401, body, headers: { 'content-length': '1000' }, breaksOff: true }))
  expect(message).toContain('the node node0 refuses access: it answers with HTTP 401: ')
})

test('an answer that permits no body is an error like any other', async () => {
  const { message } = await endOf(always({ status: 304, body: '' }))
  expect(message).toContain('the node node0 answers with errors only: it answers with HTTP 304')
})

test('a reader that follows a chain tells when a fault begins to last, and when it ends', async () => {
  let answer: RpcAnswer | HttpAnswer = { status: 401, body: '' }
  const { urls, close } = await nodes((request, pass) => {
    if (!('status' in answer)) return answering(answer)(request, pass)
    return Promise.resolve(answer)
  })
  const [said, stop, problems]: [Said[], AbortController, unknown[]] = [[], new AbortController(), []]
  const options = optionsOf(jsonOf(...urls), { said, signal: stop.signal, once: false })
  const retry = { ...options.retry, faultTimes: shortFaultTimes }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  // In the end it finds no contracts.
  const ended = expect(facts[Symbol.asyncIterator]().next()).rejects.toThrow('has no code at block')
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access']), { timeout: 5_000 })
  await new Promise((resolve) => setTimeout(resolve, 500))
  answer = { result: '0x' }
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access', null]), { timeout: 5_000 })
  expect(said.map(({ message }) => message)).toEqual([
    'The chain is waited for',
    expect.stringMatching(/^The chain can't be read: the node \S+ refuses access: /),
    'The chain answers again',
  ])
  await ended
  stop.abort()
  await close()
})

test('nodes of which one refuses access and the other is away are told both, and waited for', async () => {
  let isAway = true
  const meddle: Meddle = (request, pass) =>
    isAway ? Promise.resolve('drop') : answering({ result: '0x' })(request, pass)
  const { urls, close } = await nodes(always({ status: 401, body: '' }), meddle)
  const [said, problems]: [Said[], (string | null)[]] = [[], []]
  const options = optionsOf(jsonOf(...urls), { said })
  const retry = { ...options.retry, faultTimes: shortFaultTimes }
  const onLastingFault = (problem: string | null): void => void problems.push(problem)
  const { facts } = chainFeed({ ...options, retry, onLastingFault }, null)
  const ended = expect(facts[Symbol.asyncIterator]().next()).rejects.toThrow('has no code at block')
  await vi.waitFor(() => expect(problems).toEqual(['a node refuses access, and a node is away']), { timeout: 5_000 })
  // Longer than for nodes that all refuse: one that is away may come back.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  isAway = false
  await ended
  expect(problems).toEqual(['a node refuses access, and a node is away', null])
  const errors = said.filter(({ level }) => level === 'error').map(({ message }) => message)
  expect(errors).toEqual([
    expect.stringMatching(/^The chain can't be read: the node \S+ refuses access: .+; the node \S+ can't be reached: /),
  ])
  await close()
})

test('warns once of a node that is of no use, where another one serves', async () => {
  const { urls, close } = await nodes(always({ status: 401, body: '' }), answering({ result: '0x' }))
  const said: Said[] = []
  const read = linesOf(jsonOf(...urls), said, shortFaultTimes)
  await expect(read).rejects.toThrow('has no code at block')
  expect(said).toEqual([
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
