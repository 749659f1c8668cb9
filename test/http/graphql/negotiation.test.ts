import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { preferredType } from '../../../src/http/middleware/content-negotiation.ts'
import { acceptedParameters } from '../../../src/limits.ts'
import { emptyDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const path = '/graphql?query={__typename}'
const types = ['application/json', 'application/graphql-response+json', 'text/html']

let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  const cache = createResponseCache(1024 * 1024)
  cache.listening(true)
  gateway = gatewayOn(await emptyDatabase(), { cache })
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

test('a response to GET varies by Accept, and each media type has a separate ETag', async () => {
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

test.each(types.slice(0, 2))('each response to POST as %s varies by Accept', async (accept) => {
  const headers = { accept, 'content-type': 'application/json' }
  const ask = (): Promise<Response> =>
    gateway.get('/graphql', { method: 'POST', headers, body: '{"query":"{ strategies { id } }"}' })
  for (const answer of [await ask(), await ask(), await ask()]) {
    expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'accept, accept-encoding'])
  }
})

test.each([
  ['application/json;q=0, */*', 200, 'application/graphql-response+json'],
  ['application/graphql-response+json;q=0, application/*', 200, 'application/json'],
  [
    'application/json;q=0, application/graphql-response+json;q=0.0, */*;q=0.1',
    406,
    'application/graphql-response+json',
  ],
])('a wildcard does not outweigh the weight 0 of a type: %s', async (accept, status, type) => {
  const headers = { accept, 'content-type': 'application/json' }
  const answer = await gateway.get('/graphql', { method: 'POST', headers, body: '{"query":"{ __typename }"}' })
  expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([status, type])
})

test.each([
  ['text/html, */*', 'text/html'],
  ['text/html;q=0.5, */*', 'application/json'],
  ['text/html;q=0.5, application/json;q=0.5, */*', 'text/html'],
])(
  'HTML is sent to a client that gives it at least the weight of JSON, by a wildcard too: %s',
  async (accept, type) => {
    const answer = await gateway.get(path, { headers: { accept } })
    expect(answer.headers.get('content-type')?.split(';')[0]).toBe(type)
  },
)

test.each(['text/event-stream;q=0', 'text/event-stream;q=0.0, text/html;q=0'])(
  'events of the weight 0 are not sent: %s',
  async (accept) => {
    const answer = await gateway.get(path, { headers: { accept } })
    expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([406, types[1]])
  },
)

test('parameters of a media range beyond their limit are ignored', () => {
  const weighed = (parameters: number): string => `text/csv${';x=y'.repeat(parameters)};q=0`
  expect(preferredType(weighed(acceptedParameters - 1), ['text/csv'])).toBeNull()
  expect(preferredType(weighed(acceptedParameters), ['text/csv'])).toBe('text/csv')
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

// The Fetch API hides how a message is framed.
describe('over a socket', () => {
  const post = 'Content-Type: application/json\r\nContent-Length: 24\r\n\r\n{"query":"{__typename}"}'
  const requests = [
    ['GET', path, '\r\n'],
    ['POST', '/graphql', post],
    ['POST', '/graphql?a=1', post],
  ] as const

  async function answerTo(line: string, rest: string): Promise<{ status: number; headers: string[]; body: string }> {
    const connection = await rawConnection(server.port)
    connection.send(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${rest}`)
    const [head = '', body = ''] = (await connection.closed).split('\r\n\r\n')
    const [statusLine = '', ...headers] = head.toLowerCase().split('\r\n')
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }

  describe.each(requests)('%s %s', (method, target, rest) => {
    test.each(['multipart/mixed', 'text/*', 'multipart/mixed;q=0.5, application/json;q=0'])(
      'that accepts %s is told that no answer is of that type',
      async (accept) => {
        const { status, headers, body } = await answerTo(`${method} ${target}`, `Accept: ${accept}\r\n${rest}`)
        expect([status, JSON.parse(body)]).toMatchObject([
          406,
          { errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] },
        ])
        expect(headers).toContain(`content-length: ${body.length}`)
      },
    )

    test.each(['multipart/mixed, application/json', '*/*, text/event-stream;q=0', ''])(
      'that accepts %s has one answer of one length',
      async (accept) => {
        const { status, headers, body } = await answerTo(`${method} ${target}`, `Accept: ${accept}\r\n${rest}`)
        expect([status, JSON.parse(body)]).toMatchObject([200, { data: { __typename: 'Query' } }])
        const named = (name: string): string[] => headers.filter((each) => each.startsWith(`${name}:`))
        expect(named('content-type')).toEqual(['content-type: application/json; charset=utf-8'])
        expect(named('content-length')).toEqual([`content-length: ${body.length}`])
        expect(named('connection')).toEqual(['connection: close'])
        expect(named('transfer-encoding')).toEqual([])
      },
    )
  })

  test('304 to a query by GET has no Content-Length', async () => {
    const { headers } = await answerTo(`GET ${path}`, '\r\n')
    const etag = headers.find((each) => each.startsWith('etag: '))?.slice('etag: '.length)
    // Tags are case-sensitive.
    const tag = (await gateway.get(path)).headers.get('etag') ?? ''
    expect(tag.toLowerCase()).toBe(etag)
    const unchanged = await answerTo(`GET ${path}`, `If-None-Match: ${tag}\r\n\r\n`)
    expect(unchanged.status).toBe(304)
    expect(unchanged.headers.join()).not.toContain('content-length')
  })
})

test.each(['/health', '/graphql', '%20'])('a query whose URL ends with %s is answered', async (end) => {
  const response = await gateway.get(`${path}&a=${end}`)
  expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
})

describe('a refusal', () => {
  const refused: readonly [what: string, status: number, init: RequestInit][] = [
    ['of a method', 405, { method: 'PUT' }],
    ['of a demanded version', 400, { headers: { 'min-data-version': 'x' } }],
    ['of a content coding', 415, { method: 'POST', headers: { 'content-encoding': 'br' }, body: '{}' }],
  ]
  test.each(refused)('%s is in the media type that the client names', async (_what, status, init) => {
    for (const [accept, type] of [
      ['application/json', 'application/json'],
      ['application/json, application/graphql-response+json;q=0.5', 'application/json'],
      ['application/json;q=0.5, application/graphql-response+json', 'application/graphql-response+json'],
      ['*/*', 'application/graphql-response+json'],
    ] as const) {
      const response = await gateway.get('/graphql', { ...init, headers: { ...init.headers, accept } })
      expect([response.status, response.headers.get('content-type')]).toEqual([status, `${type}; charset=utf-8`])
    }
  })
})

test('a compressed body is refused also where the response to its bytes is cached', async () => {
  const body = '{"query":"{ strategies { name } }"}'
  const post = (headers: Record<string, string>): Promise<Response> =>
    gateway.get('/graphql', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  for (const status of [200, 200]) expect((await post({})).status).toBe(status)
  // A no-break space is no part of the name of a coding.
  for (const coding of ['gzip', 'identity, gzip', '\u00a0gzip'])
    expect((await post({ 'content-encoding': coding })).status).toBe(415)
})

test.each([
  ['Application/JSON; charset="utf-8"', '{"query":"{ __typename }"}'],
  ['APPLICATION/JSON;charset=UTF-8; x=Y', '{"query":"{ __typename }"}'],
  ['Application/GraphQL', '{ __typename }'],
  ['application/X-WWW-form-urlencoded', 'query={__typename}'],
])('the case of the media type of a body is insignificant: %s', async (type, body) => {
  const response = await gateway.get('/graphql', { method: 'POST', headers: { 'content-type': type }, body })
  expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
})

test.each(['application/json', 'application/json; charset=utf-16', 'application/graphql'])(
  'a body of %s that is not UTF-8 is refused',
  async (type) => {
    const body = Buffer.from('{"query":"{ vaults(where: { venue: [\\"\xff\\"] }) { totalCount } }"}', 'latin1')
    const response = await gateway.get('/graphql', { method: 'POST', headers: { 'content-type': type }, body })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { errors: [{ message: expect.stringContaining('not UTF-8') as string, extensions: { code: 'BAD_REQUEST' } }] },
    ])
  },
)
