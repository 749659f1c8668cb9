import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  gateway = gatewayOn(await emptyDatabase())
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

async function answerTo(...lines: readonly string[]): Promise<string> {
  const connection = await rawConnection(server.port)
  connection.send([...lines, 'Connection: close', '', ''].join('\r\n'))
  return connection.closed
}

const query = '/graphql?query={__typename}'

describe('a Host', () => {
  test.each(['[::1', 'a b', 'a/b', 'a?b', 'a@b', 'a:b'])(
    'that is %s is a bad request, wherever it is sent',
    async (host) => {
      for (const target of [query, '/strategies']) {
        expect(await answerTo(`GET ${target} HTTP/1.1`, `Host: ${host}`)).toMatch(/^HTTP\/1\.1 400 .*no host/s)
      }
    },
  )

  test('that is longer than the limit of host names is a bad request', async () => {
    const host = (length: number): string => `Host: ${'a.'.repeat(length / 2)}:12345`
    expect(await answerTo('GET /strategies HTTP/1.1', host(254))).toMatch(/^HTTP\/1\.1 400 .*no host/s)
    expect(await answerTo('GET /strategies HTTP/1.1', host(252))).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each(['', 'localhost', '[::1]:4000', '127.0.0.1:80'])('that is "%s" is valid', async (host) => {
    for (const target of [query, '/strategies']) {
      expect(await answerTo(`GET ${target} HTTP/1.1`, `Host: ${host}`)).toMatch(/^HTTP\/1\.1 200 /)
    }
  })
})

test.each([query, '/strategies'])('two hosts close the connection: %s', async (target) => {
  const connection = await rawConnection(server.port)
  connection.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`)
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 .*^connection: close\r$.*more than one header Host/ims)
})

describe('a missing Host', () => {
  test.each([query, '/strategies', '/health'])('closes the connection: %s', async (target) => {
    const connection = await rawConnection(server.port)
    connection.send(`GET ${target} HTTP/1.1\r\n\r\n`)
    const received = await connection.closed
    expect(received).toMatch(/^HTTP\/1\.1 400 .*^connection: close\r$.*There is no header Host/ims)
    expect(received).toMatch(/^x-request-id: /im)
  })

  test('is valid in HTTP/1.0', async () => {
    expect(await answerTo('GET /strategies HTTP/1.0')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('messages that RFC 9112 forbids are refused:', () => {
  const post = 'POST /graphql HTTP/1.1\r\nHost: x\r\n'
  test.each([
    ['two hosts', 'GET /strategies HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n', 400],
    ['no host', 'GET /strategies HTTP/1.1\r\n\r\n', 400],
    ['version 0.9', 'GET /strategies HTTP/0.9\r\nHost: x\r\n\r\n', 400],
    ['version 2.0', 'GET /strategies HTTP/2.0\r\nHost: x\r\n\r\n', 400],
    ['version 1.2', 'GET /strategies HTTP/1.2\r\nHost: x\r\n\r\n', 400],
    ['a length and an encoding', `${post}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`, 400],
    ['an encoding that is not known', `${post}Transfer-Encoding: gzip\r\n\r\n`, 400],
    ['two encodings', `${post}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`, 400],
    [
      'an encoding in HTTP/1.0',
      'POST /graphql HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['two equal lengths', `${post}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`, 400],
    ['a length with a sign', `${post}Content-Length: +3\r\n\r\nabc`, 400],
    ['a header over two lines', 'GET /strategies HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400],
    ['a bare CR', 'GET /strategies HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n', 400],
    ['a bare LF', 'GET /strategies HTTP/1.1\nHost: x\n\n', 400],
    ['a header with a space in its name', 'GET /strategies HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n', 400],
    ['long extensions of a chunk', `${post}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\na\r\n`, 413],
    ['long trailers', `${post}Transfer-Encoding: chunked\r\n\r\n0\r\n${'T: 12345678\r\n'.repeat(2_000)}\r\n`, 431],
  ])('%s', async (_, text, status) => {
    const connection = await rawConnection(server.port)
    connection.send(text)
    if (text.includes('hOST')) connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(await connection.closed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })
})

test('a query by POST is answered for any If-None-Match', async () => {
  const headers = { 'content-type': 'application/json', 'if-none-match': '*' }
  const response = await gateway.get('/graphql', { method: 'POST', body: '{"query":"{__typename}"}', headers })
  expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
})

test.each(['PUT', 'DELETE', 'TRACE', 'PROPFIND'])('%s is a method of no path', async (method) => {
  for (const target of [query, '/strategies']) {
    expect(await answerTo(`${method} ${target} HTTP/1.1`, 'Host: x')).toMatch(/^HTTP\/1\.1 405 .*^allow: GET, /ims)
  }
})

describe('CONNECT', () => {
  test.each(['x:443', '/strategies', '/graphql'])('is refused, and closes the connection: %s', async (target) => {
    const connection = await rawConnection(server.port)
    connection.send(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\nGET /strategies HTTP/1.1\r\nHost: x\r\n\r\n`)
    const received = await connection.closed
    expect(received).toMatch(/^HTTP\/1\.1 405 .*^allow: GET, HEAD, OPTIONS\r$.*^connection: close\r$/ims)
    expect(received.slice(1)).not.toContain('HTTP/1.1 ')
  })

  test('is refused after the answers to the requests before it', async () => {
    const connection = await rawConnection(server.port)
    const before = '/strategies /vault/0x1/snapshot /universe'.split(' ')
    connection.send([...before.map((path) => `GET ${path}`), 'CONNECT x:443'].map(hosted).join(''))
    const received = await connection.closed
    expect(Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual([
      '200',
      '400',
      '200',
      '405',
    ])
  })
})

const hosted = (line: string): string => `${line} HTTP/1.1\r\nHost: x\r\n\r\n`

describe('a method that Node does not know', () => {
  test.each(['FOO', 'get', 'GETT', 'x-y'])('is one of no path: %s', async (method) => {
    const refused = await answerTo(`${method} /vault/x/snapshot?a=1 HTTP/1.1`, 'Host: x')
    expect(refused).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/)
    expect(refused).toMatch(/^content-type: application\/problem\+json/m)
    expect(refused).toMatch(/^allow: GET, HEAD, OPTIONS\r$/m)
    expect(refused).toContain(`"detail":"${method} is not allowed, only GET, HEAD, OPTIONS"`)
  })

  test('is refused as a GraphQL error for /graphql, and after another request too', async () => {
    const refused = await answerTo(`FOO ${query} HTTP/1.1`, 'Host: x')
    expect(refused).toMatch(/^HTTP\/1\.1 405 .*^allow: GET, POST, OPTIONS\r$.*"code":"METHOD_NOT_ALLOWED"/ms)
    const connection = await rawConnection(server.port)
    connection.send('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.receives(/alive/)
    connection.send('FOO /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 405 /s)
  })

  test('is refused with 404 for an unknown path', async () => {
    expect(await answerTo('FOO /nowhere HTTP/1.1', 'Host: x')).toMatch(/^HTTP\/1\.1 404 .*path-not-found/s)
  })

  test.each([
    ['a long target', `FOO /${'x'.repeat(9_000)}`],
    ['a long method', `${'F'.repeat(100)} /nowhere`],
    ['a target of control characters', `FOO /${'\x01'.repeat(8_000)}`],
  ])('is not repeated with %s', async (_, line) => {
    const refused = await answerTo(`${line} HTTP/1.1`, 'Host: x')
    expect(refused).toMatch(/^HTTP\/1\.1 400 .*This is not HTTP/s)
    expect(refused.length).toBeLessThan(1_000)
  })

  test.each(['FOO', 'FOO /strategies', '\x16\x03\x01', 'F(O /strategies HTTP/1.1', 'FOO /a b HTTP/1.1'])(
    'is no HTTP where the rest is none: %j',
    async (line) => {
      expect(await answerTo(line, 'Host: x')).toMatch(/^HTTP\/1\.1 400 .*This is not HTTP/s)
    },
  )
})

test.each([
  ['http://x/strategies', '[]'],
  ['http://another:80/strategies?a=/b', '[]'],
  ['HTTPS://x/graphql?query={__typename}', '"__typename":"Query"'],
  ['http://x', '"linkset"'],
  ['http://x?a=1', '"linkset"'],
])('a target that names its host is taken: %s', async (target, words) => {
  const answer = await answerTo(`GET ${target} HTTP/1.1`, 'Host: x')
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(answer).toContain(words)
})

test.each(['http:///strategies', 'x:/strategies', 'x'])('%s leads nowhere', async (target) => {
  expect(await answerTo(`GET ${target} HTTP/1.1`, 'Host: x')).toMatch(/^HTTP\/1\.1 40[04] /)
})

test.each([
  ['ends before its body', 'Content-Length: 10\r\n\r\n{', /^HTTP\/1\.1 400 .*ended before the request came whole/s],
  [
    'has a wrong size of a chunk',
    'Transfer-Encoding: chunked\r\n\r\nxyz\r\n',
    /^HTTP\/1\.1 400 .*The size of a chunk/s,
  ],
])('a request that %s is told so', async (_, rest, refusal) => {
  const connection = await rawConnection(server.port)
  connection.socket.end(`POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}`)
  expect(await connection.closed).toMatch(refusal)
})

test('an unknown expectation is ignored', async () => {
  expect(await answerTo('GET /strategies HTTP/1.1', 'Host: x', 'Expect: the best')).toMatch(/^HTTP\/1\.1 200 .*\[\]$/s)
})

test('an upgrade is ignored, and the connection is closed', async () => {
  const connection = await rawConnection(server.port)
  connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 .*^connection: close\r$.*\[\]$/ims)
})

describe('a GraphQL request', () => {
  test.each(['variables', 'extensions'])('whose %s are not JSON is a bad one', async (name) => {
    const parameters = [
      await gateway.get(`${query}&${name}={"a`),
      await gateway.get('/graphql', {
        method: 'POST',
        body: new URLSearchParams({ query: '{__typename}', [name]: '{"a' }),
      }),
    ]
    for (const response of parameters) {
      expect(response.status).toBe(400)
      expect((await errorOf(response)).extensions).toMatchObject({ code: 'BAD_REQUEST' })
    }
    expect(gateway.reported).toEqual([])
  })

  test.each(['multipart/form-data', 'multipart/form-data; boundary=x'])('is refused as %s', async (type) => {
    const response = await gateway.get('/graphql', { method: 'POST', body: '--x--', headers: { 'content-type': type } })
    expect(response.status).toBe(415)
    expect((await errorOf(response)).extensions).toEqual({ code: 'UNSUPPORTED_MEDIA_TYPE' })
    expect(gateway.reported).toEqual([])
  })

  test.each([
    ['gzip', gzipSync('{"query":"{__typename}"}')],
    ['GZIP, identity', '{"query":"{__typename}"}'],
  ])('is told that a body with the content coding %s is not decoded', async (coding, body) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': coding }
    const response = await gateway.get('/graphql', { method: 'POST', body, headers })
    expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity'])
    expect((await errorOf(response)).extensions).toEqual({ code: 'UNSUPPORTED_MEDIA_TYPE' })
  })

  test('is answered with the content coding identity', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': ' Identity ' }
    const response = await gateway.get('/graphql', { method: 'POST', body: '{"query":"{__typename}"}', headers })
    expect(await response.json()).toMatchObject({ data: { __typename: 'Query' } })
  })

  test.each(['GET', 'POST'])('by %s that accepts no available media type is 406', async (method) => {
    const post = {
      body: '{"query":"{__typename}"}',
      headers: { accept: 'image/png', 'content-type': 'application/json' },
    }
    const response =
      method === 'GET'
        ? await gateway.get(query, { headers: { accept: 'image/png' } })
        : await gateway.get('/graphql', { method, ...post })
    expect(response.status).toBe(406)
    expect((await errorOf(response)).extensions).toEqual({ code: 'NOT_ACCEPTABLE' })
  })

  test.each(['', '{"query": {', '{"query": "{__typename}"'])(
    'whose body is %j, no JSON, is told no more',
    async (body) => {
      const headers = { 'content-type': 'application/json' }
      const response = await gateway.get('/graphql', { method: 'POST', body, headers })
      expect(response.status).toBe(400)
      expect(await errorOf(response)).toEqual({ message: 'The body is not JSON.', extensions: { code: 'BAD_REQUEST' } })
    },
  )

  test.each(['PUT', 'DELETE', 'HEAD'])('by %s is refused', async (method) => {
    const response = await gateway.get('/graphql', { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, OPTIONS'])
    if (method !== 'HEAD') expect((await errorOf(response)).extensions).toEqual({ code: 'METHOD_NOT_ALLOWED' })
  })
})
