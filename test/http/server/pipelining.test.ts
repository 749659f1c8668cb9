import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { type HttpLimits, defaultHttpLimits } from '../../../src/limits.ts'
import type { BoundedRequest } from '../../../src/http/server/bounded-request.ts'
import { type RawConnection, rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const { pipelined, waitingRequests } = defaultHttpLimits

let server: TestServer | undefined
afterEach(async () => server?.close())

/** Starts a server whose requests run until the test ends their responses. */
async function serveHeld(
  limits: Partial<HttpLimits> = {},
): Promise<{ connection: RawConnection; running: Map<string, ServerResponse>; begun: string[] }> {
  const running = new Map<string, ServerResponse>()
  const begun: string[] = []
  const listener = (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    running.set(request.url ?? '', response)
    begun.push(request.url ?? '')
    return Promise.resolve()
  }
  server = await serverOf({ listener }, limits)
  return { connection: await rawConnection(server.port), running, begun }
}

const paths = (count: number): string[] => Array.from({ length: count }, (_, index) => `/${String(index)}`)

describe('pipelined requests', () => {
  test('run concurrently up to a limit, the next one starts when one is answered, and all in their order', async () => {
    const { connection, running, begun } = await serveHeld()
    const requested = paths(pipelined + 20)
    connection.send(requested.map(get).join(''))
    await expect.poll(() => begun.length).toBeGreaterThanOrEqual(pipelined)
    expect(begun).toEqual(requested.slice(0, pipelined))
    for (const path of requested) {
      await expect.poll(() => running.has(path)).toBe(true)
      running.get(path)?.end(`answer to ${path};`)
    }
    await connection.receives(new RegExp(`answer to ${requested.at(-1) ?? ''};`))
    expect(begun).toEqual(requested)
    connection.socket.destroy()
  })

  test('are not read while others wait, so that the client waits too', async () => {
    const { connection, begun } = await serveHeld()
    // The first read has as many requests as may wait; later ones would exceed the limit.
    const line = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(8_000)}\r\n\r\n`
    const sent = paths(5_000).map(line).join('')
    connection.send(sent)
    await expect.poll(() => begun.length).toBe(pipelined)
    // The buffers of a socket have some megabytes at most.
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(connection.socket.destroyed).toBe(false)
    expect(connection.socket.writableLength).toBeGreaterThan(20_000_000)
    expect(begun).toHaveLength(pipelined)
    connection.socket.destroy()
  })

  test('with bodies are all answered, in their order', async () => {
    server = await serverOf({
      listener: async (request, response) => {
        let bytes = 0
        for await (const chunk of request) bytes += (chunk as Buffer).length
        response.end(`${request.url ?? ''} had ${String(bytes)};`)
      },
    })
    const connection = await rawConnection(server.port)
    const requested = paths(200)
    for (const path of requested) {
      connection.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n${'x'.repeat(50_000)}`)
    }
    await connection.receives(/\/199 had 50000;/)
    connection.socket.destroy()
    const received = await connection.closed
    expect(Array.from(received.matchAll(/(\/\d+) had 50000;/g), ([, path]) => path)).toEqual(requested)
  })

  test('are all notified when their client leaves', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(paths(pipelined).map(get).join(''))
    await expect.poll(() => begun.length).toBe(pipelined)
    connection.socket.destroy()
    await expect.poll(() => server?.running()).toBe(0)
    expect(begun).toHaveLength(pipelined)
  })

  test('close the connection when far too many wait', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(
      paths(pipelined + waitingRequests + 1)
        .map(get)
        .join(''),
    )
    await connection.closed
    expect(begun).toHaveLength(pipelined)
  })

  test('count without a Host, too', async () => {
    const { connection, begun } = await serveHeld()
    connection.send(get('/first') + 'GET / HTTP/1.1\r\n\r\n'.repeat(pipelined + waitingRequests))
    expect(await connection.closed).toBe('')
    expect(begun).toHaveLength(pipelined)
  })

  test('wait on all connections together up to a limit; a connection that exceeds it is closed', async () => {
    const {
      connection: first,
      running,
      begun,
    } = await serveHeld({ pipelined: 1, waitingRequests: 10, waitingInAll: 10 })
    const port = server?.port ?? 0
    const [second, third] = [await rawConnection(port), await rawConnection(port)]
    const send = (connection: RawConnection, name: string, count: number): void =>
      connection.send(
        paths(count)
          .map((path) => get(`/${name}${path}`))
          .join(''),
      )
    // Beside its oldest request, each connection may have one waiting request.
    send(first, 'first', 1 + 1 + 4)
    await expect.poll(() => begun).toEqual(['/first/0'])
    send(second, 'second', 1 + 1 + 1)
    await expect.poll(() => begun).toEqual(['/first/0', '/second/0'])
    send(third, 'third', 1 + 1 + 1)
    expect(await third.closed).toBe('')

    // Each request that starts frees capacity.
    for (const name of ['first', 'second']) {
      running.get(`/${name}/0`)?.end()
      await expect.poll(() => begun).toContain(`/${name}/1`)
    }
    const fourth = await rawConnection(port)
    send(fourth, 'fourth', 1 + 1 + 2)
    await expect.poll(() => begun).toContain('/fourth/0')
    for (const path of paths(4)) {
      await expect.poll(() => running.has(`/fourth${path}`)).toBe(true)
      running.get(`/fourth${path}`)?.end(`answer to ${path};`)
    }
    await fourth.receives(/answer to \/2;/)
    for (const { socket } of [first, second, fourth]) socket.destroy()
  })

  test('wait on the connections of one address up to a fair share of what others leave', async () => {
    const {
      connection: first,
      running,
      begun,
    } = await serveHeld({ pipelined: 1, waitingRequests: 10, waitingInAll: 10 })
    const port = server?.port ?? 0
    first.send(
      paths(1 + 1 + 5)
        .map(get)
        .join(''),
    )
    await expect.poll(() => begun).toEqual(['/0'])
    const [second, other] = [await rawConnection(port), await rawConnection(port, '127.0.0.2')]
    second.send(get('/second/0') + get('/second/1') + get('/second/2'))
    expect(await second.closed).toBe('')
    other.send(get('/other/0') + get('/other/1') + get('/other/2'))
    for (const path of ['/other/0', '/other/1', '/other/2']) {
      await expect.poll(() => running.has(path)).toBe(true)
      running.get(path)?.end(`answer to ${path};`)
    }
    await other.receives(/answer to \/other\/2;/)
    for (const { socket } of [first, other]) socket.destroy()
  })

  test('start on all connections together up to a limit, half of it for one address; the others wait', async () => {
    const { connection: first, running, begun } = await serveHeld({ pipelined: 4, pipelinedInAll: 8 })
    const port = server?.port ?? 0
    const open = [first, await rawConnection(port), await rawConnection(port), await rawConnection(port, '127.0.0.2')]
    const [, second, third, other] = open as [RawConnection, RawConnection, RawConnection, RawConnection]
    const send = async (connection: RawConnection, name: string, begins: number): Promise<void> => {
      const requested = paths(4).map((path) => `/${name}${path}`)
      connection.send(requested.map(get).join(''))
      await expect.poll(() => begun.filter((path) => path.startsWith(`/${name}/`))).toEqual(requested.slice(0, begins))
    }
    await send(first, 'first', 4)
    // The oldest request of a connection starts, however many run on other connections.
    await send(second, 'second', 1 + 1)
    await send(other, 'other', 1 + 1)
    await send(third, 'third', 1)

    for (const [name, connection] of Object.entries({ third, other, second })) {
      for (const path of paths(4).map((each) => `/${name}${each}`)) {
        await expect.poll(() => running.has(path)).toBe(true)
        running.get(path)?.end(`answer to ${path};`)
      }
      await connection.receives(new RegExp(`answer to /${name}/3;`))
    }
    first.socket.destroy()
    await expect.poll(() => server?.running()).toBe(0)
    await send(second, 'again', 4)
    for (const { socket } of open) socket.destroy()
  })

  test('free capacity when a stream starts before them, and do not start', async () => {
    const {
      connection: first,
      running,
      begun,
    } = await serveHeld({ pipelined: 1, waitingRequests: 10, waitingInAll: 10 })
    first.send(
      paths(1 + 1 + 5)
        .map(get)
        .join(''),
    )
    await expect.poll(() => begun).toEqual(['/0'])
    const { clientConnection } = (running.get('/0') as ServerResponse<BoundedRequest>).req
    clientConnection?.endWithStream()
    expect(await first.closed).toBe('')
    const second = await rawConnection(server?.port ?? 0)
    const requested = paths(1 + 1 + 5).map((path) => `/second${path}`)
    second.send(requested.map(get).join(''))
    for (const path of requested) {
      await expect.poll(() => running.has(path)).toBe(true)
      running.get(path)?.end()
    }
    expect(begun).toEqual(['/0', ...requested])
    second.socket.destroy()
  })

  test('behind a stream close the connection, with which its body ends', async () => {
    const { connection, running, begun } = await serveHeld()
    connection.send(get('/stream'))
    await expect.poll(() => begun).toEqual(['/stream'])
    ;(running.get('/stream') as ServerResponse<BoundedRequest>).req.clientConnection?.endWithStream()
    connection.send(get('/further'))
    expect(await connection.closed).toBe('')
    expect(begun).toEqual(['/stream'])
  })

  test('free capacity when their connection is closed before they start', async () => {
    const {
      connection: first,
      running,
      begun,
    } = await serveHeld({ pipelined: 1, waitingRequests: 10, waitingInAll: 10 })
    const send = (connection: RawConnection, asked: readonly string[]): void => connection.send(asked.map(get).join(''))
    send(first, paths(1 + 1 + 5 + 1))
    await first.closed
    expect(begun).toEqual(['/0'])
    const second = await rawConnection(server?.port ?? 0)
    const requested = paths(1 + 1 + 5).map((path) => `/second${path}`)
    send(second, requested)
    for (const path of requested) {
      await expect.poll(() => running.has(path)).toBe(true)
      running.get(path)?.end(`answer to ${path};`)
    }
    await second.receives(/answer to \/second\/6;/)
    second.socket.destroy()
  })
})

test('a connection whose CONNECT waits for an answer is closed with the server', async () => {
  const { connection, begun } = await serveHeld()
  connection.send(`${get('/never-answered')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await expect.poll(() => begun.length).toBe(1)
  const closing = server
  server = undefined
  await closing?.close()
  await connection.closed
})

test('a connection whose CONNECT waits for an answer is closed at the idle timeout', async () => {
  const { connection, begun } = await serveHeld({ silentSeconds: 1 })
  connection.send(`${get('/never-answered')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await expect.poll(() => begun.length).toBe(1)
  await connection.closed
})
