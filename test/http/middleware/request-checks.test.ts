import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultHttpLimits } from '../../../src/limits.ts'
import { bodyChunks, discardedBytes } from '../../../src/limits/connections.ts'
import { fetchedBody } from '../../../src/http/server/request-body.ts'
import { BodyShare, createProcessCapacity } from '../../../src/http/server/capacity/process-capacity.ts'
import { listen } from '../../../src/http/server/server.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply, strategy } from '../../support/world.ts'

/** Options of a stream that produces nothing before it is read. */
const lazily = { highWaterMark: 0 }

const query = '{ strategies { id } }'
const answered = { data: { strategies: [{ id: 'calm' }] } }

let database: TestDatabase
let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm')])
  gateway = gatewayOn(database)
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

type Ask = (path: string, init?: RequestInit) => Promise<Response>
const ways: [string, Ask][] = [
  ['fetch', (path, init) => gateway.get(path, init)],
  ['a socket', (path, init) => fetch(server.origin + path, init)],
]

function targetOf(path: string, bytes: number): string {
  return `${path}?${'x'.repeat(bytes - path.length - 1)}`
}

/** Returns a body of this length with a query. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify({ query })
  return body + ' '.repeat(bytes - body.length)
}

function posting(body: BodyInit): RequestInit {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return { method: 'POST', headers, body }
}

/** Returns a POST in chunks, without a Content-Length. */
function chunked(text: string): RequestInit {
  const half = Math.floor(text.length / 2)
  const stream = Readable.toWeb(Readable.from([text.slice(0, half), text.slice(half)].map((part) => Buffer.from(part))))
  return { ...posting(stream as unknown as BodyInit), duplex: 'half' } as RequestInit
}

describe.each(ways)('by %s', (_way, ask) => {
  test('a target of the maximum length is answered, a longer one is not', async () => {
    const { targetBytes } = defaultHttpLimits
    expect((await ask(targetOf('/strategies', targetBytes))).status).toBe(200)
    const problem = await problemOf(await ask(targetOf('/strategies', targetBytes + 1)), 414)
    expect(problem).toMatchObject({
      type: 'urn:vault-gateway:problem:target-too-long',
      detail: 'Path and query have 8193 bytes, more than 8192.',
    })
  })

  test('a query in too long a target is refused with a GraphQL error', async () => {
    const response = await ask(targetOf(`/graphql`, defaultHttpLimits.targetBytes + 1))
    expect(response.status).toBe(414)
    expect(await errorOf(response)).toMatchObject({ extensions: { code: 'TARGET_TOO_LONG' } })
  })

  test.each<[string, (body: string) => RequestInit]>([
    ['with its length', posting],
    ['in chunks', chunked],
  ])('a body of as many bytes as it may have is answered, one of more is not: %s', async (_, sent) => {
    const { bodyBytes } = defaultHttpLimits
    expect(bodyOf(bodyBytes)).toHaveLength(bodyBytes)
    const longest = await ask('/graphql', sent(bodyOf(bodyBytes)))
    expect(await longest.json()).toMatchObject(answered)
    const response = await ask('/graphql', sent(bodyOf(bodyBytes + 1)))
    expect([response.status, response.headers.get('content-type')]).toEqual([
      413,
      'application/graphql-response+json; charset=utf-8',
    ])
    expect(await errorOf(response)).toEqual({
      message: 'The body is too large. The body has more than 65536 bytes.',
      extensions: { code: 'BODY_TOO_LARGE' },
    })
  })

  test('headers over the limit are refused', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'y']))
    const problem = await problemOf(await ask('/strategies', { headers }), 431)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:headers-too-large' })
  })
})

test('a body whose Content-Length is over the limit is refused before it is received', async () => {
  const never = new ReadableStream<Uint8Array<ArrayBuffer>>(
    { pull: () => Promise.reject(new Error('it was read')) },
    lazily,
  )
  const headers = new Headers({ 'content-length': '65537' })
  expect(
    await fetchedBody(
      { body: never, headers },
      defaultHttpLimits,
      new BodyShare(createProcessCapacity(defaultHttpLimits).bodies, 'a'),
    ),
  ).toBe('too large')
})

test('a body is not read beyond its limit', async () => {
  let chunks = 0
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>(
    { pull: (controller) => controller.enqueue(new Uint8Array(1_000).fill(++chunks)) },
    lazily,
  )
  const limits = { ...defaultHttpLimits, bodyBytes: 10_000 }
  expect(
    await fetchedBody(
      { body: endless, headers: new Headers() },
      limits,
      new BodyShare(createProcessCapacity(limits).bodies, 'a'),
    ),
  ).toBe('too large')
  expect(chunks).toBe(11)
})

test('after the refusal of a body, its connection accepts the next request', async () => {
  const connection = await rawConnection(server.port)
  const length = defaultHttpLimits.bodyBytes * 2
  connection.send(`POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`)
  await connection.receives(/^HTTP\/1\.1 413 .*BODY_TOO_LARGE/s)
  connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(await connection.closed).toMatch(/HTTP\/1\.1 200 OK.*"calm"/s)
})

test('a body with Expect: 100-continue is refused before it is received, and its connection closed', async () => {
  const connection = await rawConnection(server.port)
  const length = defaultHttpLimits.bodyBytes + 1
  connection.send(`POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`)
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 413 .*^connection: close\r$.*BODY_TOO_LARGE/ims)
})

test('a refused request with Expect: 100-continue gets no status 100', async () => {
  const keyed = await serverOf(gatewayOn(database, { apiKeys: ['a-key-of-this-test'] }).app)
  const connection = await rawConnection(keyed.port)
  connection.send('POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n')
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 401 /)
  await keyed.close()
})

test.each([
  ['/graphql', 413],
  ['/strategies', 405],
])('a body to %s in chunks of a byte is answered, and cut after some of them', async (path, status) => {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
  const endless = '1\r\nx\r\n'.repeat(2 * bodyChunks + 10)
  // The last two end in the read that exceeds the limit of chunks.
  for (const parts of [[head, endless], [`${head}${endless}0\r\n\r\n`], [head, `${endless}0\r\n\r\n`]]) {
    const connection = await rawConnection(server.port)
    for (const part of parts) connection.send(part)
    expect(await connection.closed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  }
})

test.each([
  ['/graphql', 413],
  ['/strategies', 405],
  ['/nowhere', 404],
])('a body without end to %s is answered, and then cut', async (path, status) => {
  const connection = await rawConnection(server.port)
  connection.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  let sent = 0
  while (!connection.socket.destroyed && sent < 20 * discardedBytes) {
    sent += chunk.length
    await new Promise((resolve) => connection.socket.write(chunk, resolve))
  }
  expect(await connection.closed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(sent).toBeLessThan(20 * discardedBytes)
})

test('a client that leaves while it sends its body is no error', async () => {
  const connection = await rawConnection(server.port)
  connection.send('POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n{')
  await connection.receives(/100 Continue/)
  connection.socket.destroy()
  await connection.closed
  expect((await fetch(`${server.origin}/strategies`)).status).toBe(200)
  expect(gateway.reported).toEqual([])
})

/** Returns the problem in the last response on a connection. */
function rawProblem(text: string): { status: number; problem: unknown; closes: boolean } {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  expect(head).toContain('content-type: application/problem+json')
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1])
  return { status, problem: JSON.parse(body), closes: head.includes('connection: close') }
}

describe('malformed requests are answered, and their connection closed:', () => {
  test.each([
    ['no HTTP', 'HELO gateway\r\n\r\n', 400, 'bad-request'],
    [
      'two lengths',
      'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'bad-request',
    ],
    [
      'too long headers',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers-too-large',
    ],
    ['a target beyond all headers', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers-too-large'],
  ])('%s', async (_what, text, status, type) => {
    const connection = await rawConnection(server.port)
    connection.send(text)
    expect(rawProblem(await connection.closed)).toMatchObject({
      status,
      closes: true,
      problem: { status, type: `urn:vault-gateway:problem:${type}` },
    })
  })
})

describe('with short timeouts', () => {
  const long = { headersSeconds: 3_600, requestSeconds: 3_600, silentSeconds: 3_600, idleSeconds: 3_600 }

  async function closed(limits: Partial<typeof long>, text: string): Promise<string> {
    const own = await serverOf(gateway.app, { ...long, ...limits })
    const connection = await rawConnection(own.port)
    connection.send(text)
    const received = await connection.closed
    await own.close()
    return received
  }

  test('incomplete headers are answered 408', async () => {
    const received = await closed({ headersSeconds: 0.3 }, 'GET /strategies HTTP/1.1\r\nHost: x\r\n')
    expect(rawProblem(received)).toMatchObject({
      status: 408,
      closes: true,
      problem: { type: 'urn:vault-gateway:problem:request-timeout' },
    })
  })

  test('an incomplete body is answered 408', async () => {
    const head = 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'
    const received = await closed({ headersSeconds: 0.2, requestSeconds: 0.4 }, head)
    expect(rawProblem(received)).toMatchObject({ status: 408, closes: true })
    expect(gateway.reported).toEqual([])
  })

  test('a connection that idles after its answer is closed', async () => {
    const own = await serverOf(gateway.app, { ...long, idleSeconds: 0.2 })
    const connection = await rawConnection(own.port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.receives(/^HTTP\/1\.1 200 OK.*"calm"/s)
    // The default of Node is 5 s.
    const isOver = await Promise.race([connection.closed.then(() => true), wait(5_000, false)])
    expect(isOver).toBe(true)
    await own.close()
  })

  test('a connection without traffic is closed while a request runs', async () => {
    const never = { listener: () => new Promise<void>(() => undefined) }
    const own = await serverOf(never, { ...long, silentSeconds: 0.2 })
    const connection = await rawConnection(own.port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await connection.closed).toBe('')
    await own.close()
  })
})

test('an error that a listener throws is reported, and its connection closed', async () => {
  const reported: unknown[] = []
  const error = new Error('thrown')
  const own = await listen({
    listener: () => Promise.reject(error),
    onError: (thrown) => reported.push(thrown),
    port: 0,
    host: '127.0.0.1',
  })
  await expect(fetch(`http://127.0.0.1:${own.port}/`)).rejects.toThrow('fetch failed')
  expect(reported).toEqual([error])
  await own.close(0)
})
