import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { HttpLimits } from '../../../src/limits.ts'
import { rawConnection, type RawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const upload = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
const brokenChunk = 'this is no chunk\r\n'
const noRequest = 'this is no request\r\n\r\n'

let server: TestServer | undefined
afterEach(async () => server?.close())

interface HeldServer {
  readonly connection: RawConnection
  readonly running: ReadonlyMap<string, ServerResponse>
  /** Resolves to the response of a request that runs. */
  readonly begun: (path: string) => Promise<ServerResponse>
}

/** Starts a server whose requests run until the test ends their responses. */
async function serveHeld(limits: Partial<HttpLimits> = {}): Promise<HeldServer> {
  const running = new Map<string, ServerResponse>()
  server = await serverOf(
    { listener: (request, response) => Promise.resolve(void running.set(request.url ?? '', response)) },
    limits,
  )
  const begun = async (path: string): Promise<ServerResponse> => {
    await expect.poll(() => running.get(path)).toBeDefined()
    return running.get(path) as ServerResponse
  }
  return { connection: await rawConnection(server.port), running, begun }
}

/** Returns status and path of each received response, in order; the body of a response is its path. */
function answersIn(came: string): string[] {
  return Array.from(
    came.matchAll(/HTTP\/1\.1 (\d+)[^]*?\r\n\r\n(?:[\da-f]+\r\n)?(\/[a-z]+|\{)?/g),
    ([, status = '', body = '']) => `${status} ${body}`.trim(),
  )
}

/** Waits long enough for the server to have read its input. */
const seen = (): Promise<void> => wait(100)

describe('the refusal of bytes that are no request', () => {
  test('follows the answer to the request before them, however long that takes', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(get('/first') + noRequest)
    const first = await begun('/first')
    await seen()
    first.end('/first')
    expect(answersIn(await connection.closed)).toEqual(['200 /first', '400 {'])
  })

  test('follows the answers to all requests before them, running and waiting', async () => {
    const { connection, begun } = await serveHeld({ pipelined: 2 })
    const paths = ['/first', '/second', '/third', '/fourth']
    connection.send(paths.map(get).join('') + noRequest)
    for (const path of paths) {
      const response = await begun(path)
      await seen()
      response.end(path)
    }
    expect(answersIn(await connection.closed)).toEqual([...paths.map((path) => `200 ${path}`), '400 {'])
  })

  test('does not truncate an answer that has begun', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(get('/first'))
    const first = await begun('/first')
    first.write('/first')
    await connection.receives(/\/first/)
    connection.send(noRequest)
    await seen()
    first.end(' to its end')
    const received = await connection.closed
    expect(received).toContain(' to its end')
    expect(answersIn(received)).toEqual(['200 /first', '400 {'])
  })

  test('is sent once, and nothing is read after it', async () => {
    const { connection, begun, running } = await serveHeld()
    connection.send(get('/first') + noRequest)
    const first = await begun('/first')
    for (let times = 0; times < 3; times++) {
      connection.send(noRequest + get('/late'))
      await seen()
    }
    first.end('/first')
    expect(answersIn(await connection.closed)).toEqual(['200 /first', '400 {'])
    expect([...running.keys()]).toEqual(['/first'])
  })

  test('is not sent if the answer before it closes the connection', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(get('/first') + noRequest)
    const first = await begun('/first')
    await seen()
    first.setHeader('connection', 'close').end('/first')
    expect(answersIn(await connection.closed)).toEqual(['200 /first'])
  })
})

describe('the refusal of a body that can not be read', () => {
  test('answers its request, after the answer of the one before', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(get('/first') + upload('/second') + brokenChunk)
    const first = await begun('/first')
    await begun('/second')
    await seen()
    first.end('/first')
    expect(answersIn(await connection.closed)).toEqual(['200 /first', '400 {'])
  })

  test('is not sent if its request has been answered', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(upload('/first'))
    const first = await begun('/first')
    first.end('/first')
    await connection.receives(/\/first/)
    await seen()
    connection.send(brokenChunk)
    expect(answersIn(await connection.closed)).toEqual(['200 /first'])
  })

  test('is not sent if the answer to its request has begun, which is completed', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(upload('/first'))
    const first = await begun('/first')
    first.write('/first')
    await connection.receives(/\/first/)
    connection.send(brokenChunk)
    await seen()
    first.end(' to its end')
    const received = await connection.closed
    expect(received).toContain(' to its end')
    expect(answersIn(received)).toEqual(['200 /first'])
  })
})

test('a request that is incomplete at its timeout is refused after the answer to the one before', async () => {
  const { connection, begun } = await serveHeld({ headersSeconds: 0.5, requestSeconds: 0.5 })
  connection.send(get('/first') + 'GET /second HTTP/1.1\r\nHost:')
  const first = await begun('/first')
  await wait(1_000)
  first.end('/first')
  expect(answersIn(await connection.closed)).toEqual(['200 /first', '408 {'])
})
