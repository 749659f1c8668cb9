import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultHttpLimits, bodyChunks, discardedBytes } from '../../../src/limits.ts'
import { fetchedBody } from '../../../src/http/server/request-body.ts'
import { BodyShare, createSharedCapacity } from '../../../src/http/server/capacity/shared-capacity.ts'
import { listen } from '../../../src/http/server/server.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply, strategy } from '../../support/world.ts'

/** Nothing is made before it is read. */
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

/** A query in a body of so many bytes. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify({ query })
  return body + ' '.repeat(bytes - body.length)
}

function posting(body: BodyInit): RequestInit {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return { method: 'POST', headers, body }
}

/** Sent in chunks, without a Content-Length. */
function chunked(text: string): RequestInit {
  const half = Math.floor(text.length / 2)
  const stream = Readable.toWeb(Readable.from([text.slice(0, half), text.slice(half)].map((part) => Buffer.from(part))))
  return { ...posting(stream as unknown as BodyInit), duplex: 'half' } as RequestInit
}

describe.each(ways)('by %s', (_way, ask) => {
  test('a target of as many bytes as it may have is answered, one of more is not', async () => {
    const { targetBytes } = defaultHttpLimits
    expect((await ask(targetOf('/strategies', targetBytes))).status).toBe(200)
    const problem = await problemOf(await ask(targetOf('/strategies', targetBytes + 1)), 414)
    expect(problem).toMatchObject({
      type: 'urn:vault-gateway:problem:target-too-long',
      detail: 'Path and query have 8193 bytes, more than 8192.',
    })
  })

  test('a query in too long a target is refused as GraphQL refuses', async () => {
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
    const most = await ask('/graphql', sent(bodyOf(bodyBytes)))
    expect(await most.json()).toMatchObject(answered)
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

  test('more headers than there may be are refused', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'y']))
    const problem = await problemOf(await ask('/strategies', { headers }), 431)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:headers-too-large' })
  })
})

test('a body that says it is too long is refused before it comes', async () => {
  const never = new ReadableStream<Uint8Array<ArrayBuffer>>(
    { pull: () => Promise.reject(new Error('it was read')) },
    lazily,
  )
  const headers = new Headers({ 'content-length': '65537' })
  expect(
    await fetchedBody(
      { body: never, headers },
      defaultHttpLimits,
      new BodyShare(createSharedCapacity(defaultHttpLimits).bodies, 'a'),
    ),
  ).toBe('too large')
})

test('a body is read no further than its bound', async () => {
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
      new BodyShare(createSharedCapacity(limits).bodies, 'a'),
    ),
  ).toBe('too large')
  expect(chunks).toBe(11)
})

test('the refusal of a body leaves its connection fit for the next request', async () => {
  const connection = await rawConnection(server.port)
  const length = defaultHttpLimits.bodyBytes * 2
  connection.send(`POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`)
  await connection.receives(/^HTTP\/1\.1 413 .*BODY_TOO_LARGE/s)
  connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(await connection.closed).toMatch(/HTTP\/1\.1 200 OK.*"calm"/s)
})

test('a body that its sender asks about is refused before it comes, and its connection closed', async () => {
  const connection = await rawConnection(server.port)
  const length = defaultHttpLimits.bodyBytes + 1
  connection.send(`POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`)
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 413 .*^connection: close\r$.*BODY_TOO_LARGE/ims)
})

test('a body that its sender asks about is not asked for where the request is refused', async () => {
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
  // The last two end in the read that brings too many chunks.
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

test('a client that goes in the middle of its body is no error', async () => {
  const connection = await rawConnection(server.port)
  connection.send('POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n{')
  await connection.receives(/100 Continue/)
  connection.socket.destroy()
  await connection.closed
  expect((await fetch(`${server.origin}/strategies`)).status).toBe(200)
  expect(gateway.reported).toEqual([])
})

/** The problem in the last answer on a connection. */
function rawProblem(text: string): { status: number; problem: unknown; closes: boolean } {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  expect(head).toContain('content-type: application/problem+json')
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1])
  return { status, problem: JSON.parse(body), closes: head.includes('connection: close') }
}

describe('what is no request is answered, and its connection closed:', () => {
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

describe('with one short time', () => {
  const long = { headersSeconds: 3_600, requestSeconds: 3_600, silentSeconds: 3_600, idleSeconds: 3_600 }

  async function closed(limits: Partial<typeof long>, text: string): Promise<string> {
    const own = await serverOf(gateway.app, { ...long, ...limits })
    const connection = await rawConnection(own.port)
    connection.send(text)
    const came = await connection.closed
    await own.close()
    return came
  }

  test('headers that do not come whole are answered 408', async () => {
    const came = await closed({ headersSeconds: 0.3 }, 'GET /strategies HTTP/1.1\r\nHost: x\r\n')
    expect(rawProblem(came)).toMatchObject({
      status: 408,
      closes: true,
      problem: { type: 'urn:vault-gateway:problem:request-timeout' },
    })
  })

  test('a body that does not come whole is answered 408', async () => {
    const head = 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'
    const came = await closed({ headersSeconds: 0.2, requestSeconds: 0.4 }, head)
    expect(rawProblem(came)).toMatchObject({ status: 408, closes: true })
    expect(gateway.reported).toEqual([])
  })

  test('a connection that idles after its answer is closed', async () => {
    const own = await serverOf(gateway.app, { ...long, idleSeconds: 0.2 })
    const connection = await rawConnection(own.port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.receives(/^HTTP\/1\.1 200 OK.*"calm"/s)
    // Node's own time is 5 s.
    const isOver = await Promise.race([connection.closed.then(() => true), wait(5_000, false)])
    expect(isOver).toBe(true)
    await own.close()
  })

  test('a connection on which nothing moves while a request runs is closed', async () => {
    const never = { listener: () => new Promise<void>(() => undefined) }
    const own = await serverOf(never, { ...long, silentSeconds: 0.2 })
    const connection = await rawConnection(own.port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await connection.closed).toBe('')
    await own.close()
  })
})

test('what a listener throws is told, and its connection cut', async () => {
  const told: unknown[] = []
  const error = new Error('thrown')
  const own = await listen({
    listener: () => Promise.reject(error),
    onError: (thrown) => told.push(thrown),
    port: 0,
    host: '127.0.0.1',
  })
  await expect(fetch(`http://127.0.0.1:${own.port}/`)).rejects.toThrow('fetch failed')
  expect(told).toEqual([error])
  await own.close(0)
})
