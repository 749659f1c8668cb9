import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { BoundedRequest } from '../../../src/http/server/bounded-request.ts'
import { type HttpServer, listen, type ServerOptions } from '../../../src/http/server/server.ts'
import { deferred } from '../../support/deferred.ts'
import { type RawConnection, rawConnection } from '../../support/raw.ts'

const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'
/** More than the kernel buffers for a client that does not read: up to 4 MB to send, and 6 MB received. */
const longBody = Buffer.alloc(24_000_000, 'x')

let server: HttpServer | undefined
const opened: RawConnection[] = []
afterEach(async () => {
  for (const { socket } of opened.splice(0)) socket.destroy()
  await server?.close(0)
  server = undefined
})

function listening(options: Partial<ServerOptions> & Pick<ServerOptions, 'listener'>): Promise<HttpServer> {
  const onError = (error: unknown): never => {
    throw error
  }
  return listen({ port: 0, host: '127.0.0.1', onError, ...options })
}

const answer = (body: string | Buffer) => (_: BoundedRequest, response: ServerResponse) => {
  response.writeHead(200, { 'content-length': body.length }).end(body)
  return Promise.resolve()
}

async function opening(port: number): Promise<RawConnection> {
  const connection = await rawConnection(port)
  opened.push(connection)
  return connection
}

describe('a server that closes', () => {
  test.each([
    ['GET', get],
    ['POST', post],
  ])('answers a %s that has arrived on an open connection and is not read yet', async (_, request) => {
    server = await listening({ listener: answer('first') })
    const connection = await opening(server.port)
    connection.send(get)
    await connection.receives(/first/)
    // The kernel has received it, but the event loop does not read it before the server closes.
    connection.send(request)
    const closing = server.close(10)
    const [, last] = (await connection.closed).split('first')
    expect(last).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n/is)
    expect(await closing).toBe(0)
  })

  test('answers a request on a connection that was accepted but not read yet', async () => {
    const accepted = deferred()
    server = await listening({ listener: answer('first'), onConnections: accepted.resolve })
    const socket = connect(server.port, '127.0.0.1').setEncoding('latin1')
    let received = ''
    socket.on('data', (text: string) => (received += text)).on('error', () => undefined)
    socket.write(get)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await accepted.promise
    expect(await server.close(10)).toBe(0)
    await closed
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*first$/is)
  })

  test('sends the rest of an answer that its client has not read yet', async () => {
    server = await listening({ listener: answer(longBody) })
    const socket = connect(server.port, '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(get)
    const [head] = (await once(socket, 'data')) as [Buffer]
    socket.pause()
    let received = head.length - head.indexOf('\r\n\r\n') - 4
    const closing = server.close(10)
    socket.on('data', ({ length }) => (received += length)).resume()
    await closed
    expect(received).toBe(longBody.length)
    expect(await closing).toBe(0)
  })

  test('closes idle connections, and accepts no new ones', async () => {
    server = await listening({ listener: answer('first') })
    const { port } = server
    const [used, unused] = [await opening(port), await opening(port)]
    used.send(get)
    await used.receives(/first/)
    expect(await server.close(10)).toBe(0)
    await Promise.all([used.closed, unused.closed])
    await expect(opening(port)).rejects.toThrow('ECONNREFUSED')
  })
})
