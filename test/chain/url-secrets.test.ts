import { afterAll, beforeAll, expect, test } from 'vitest'
import { withoutSecrets } from '../../src/chain/rpc/url-secrets.ts'
import { connectNode } from '../../src/chain/rpc/node.ts'
import { type HttpAnswer, type RpcAnswer, startProxy } from './support/proxy.ts'

const key = Array.from({ length: 16 }, (_, index) => `k${index}Secret`).join('')
const hash = `0x${'ab'.repeat(32)}` as const
let answer: RpcAnswer | HttpAnswer
let proxy: Awaited<ReturnType<typeof startProxy>>

beforeAll(async () => {
  proxy = await startProxy('http://127.0.0.1:9', () => Promise.resolve(answer))
})
afterAll(() => proxy.close())

const repeated = `${key} `.repeat(40)

test.each<[string, RpcAnswer | HttpAnswer]>([
  ['an error', { error: { code: -32_000, message: repeated } }],
  ['an HTTP error', { status: 500, body: repeated, headers: { 'content-type': 'text/plain' } }],
  ['a result', { result: `${'x'.repeat(60)}${key}` }],
])('%s that is cut within a key of the url shows no part of it', async (_name, given) => {
  answer = given
  const node = connectNode({ url: `${proxy.url}/v2/${key}`, requestsPerSecond: 10_000 })
  const error: unknown = await node.logsOf({}, hash).catch((one: unknown) => one)
  const block: unknown = await node.block(1).catch((one: unknown) => one)
  for (const { reason } of [node.explain(error), node.explain(block)]) expect(reason).not.toContain(key.slice(0, 7))
})

test('text that has only a few first characters of a secret stays', () => {
  const url = `https://node.example/${key}?project=1234567890`
  expect(withoutSecrets('proj k0Se 12345', url)).toBe('proj k0Se 12345')
  expect(withoutSecrets(`a ${key} b ${key.slice(0, 40)} c project=1234 d 1234567890`, url)).toBe(
    'a [hidden] b [hidden] c project=1234 d [hidden]',
  )
})
