import { beforeAll, expect, test } from 'vitest'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { emptyDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'

const path = '/graphql?query={__typename}'
const types = ['application/json', 'application/graphql-response+json', 'text/html']

let gateway: TestGateway

beforeAll(async () => {
  const cache = createResponseCache(1024 * 1024)
  cache.listening(true)
  gateway = gatewayOn(await emptyDatabase(), { cache })
})

test('an answer by GET varies by Accept, and each media type has a tag of its own', async () => {
  const answers = await Promise.all(types.map((accept) => gateway.get(path, { headers: { accept } })))
  expect(answers.map(({ headers }) => headers.get('content-type')?.split(';')[0])).toEqual(types)
  for (const { headers } of answers) expect(headers.get('vary')?.split(', ')).toEqual(['accept', 'accept-encoding'])
  const [json, response] = await Promise.all(answers.map((answer) => answer.text()))
  expect(json).toBe(response)

  const tags = answers.map(({ headers }) => headers.get('etag') ?? '')
  expect(new Set(tags).size).toBe(types.length)
  for (const [held, tag] of tags.entries()) {
    for (const [asked, accept] of types.entries()) {
      const { status, headers } = await gateway.get(path, { headers: { accept, 'if-none-match': tag } })
      expect([accept, tag, status]).toEqual([accept, tag, held === asked ? 304 : 200])
      expect(headers.get('vary')?.split(', ')).toContain('accept')
    }
  }
})

test.each(types.slice(0, 2))('an answer by POST as %s varies by Accept each time that it is made', async (accept) => {
  const headers = { accept, 'content-type': 'application/json' }
  const ask = (): Promise<Response> =>
    gateway.get('/graphql', { method: 'POST', headers, body: '{"query":"{ strategies { id } }"}' })
  for (const answer of [await ask(), await ask(), await ask()]) {
    expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'accept, accept-encoding'])
  }
})

test('media ranges beyond the limit of an Accept header are ignored', async () => {
  const statusAfter = async (count: number, range: string, init: RequestInit): Promise<number> => {
    const accept = `${`${range},`.repeat(count)}application/json`
    const headers = { 'content-type': 'application/json', accept }
    return (await gateway.get('/graphql', { ...init, headers })).status
  }
  for (const range of ['a/b', 'a/b;q=0.9']) {
    for (const query of ['{ __typename }', '']) {
      const init = { method: 'POST', body: JSON.stringify({ query }) }
      const [within, beyond] = [await statusAfter(49, range, init), await statusAfter(50, range, init)]
      expect([range, query, within === 406, beyond]).toEqual([range, query, false, 406])
    }
  }
})
