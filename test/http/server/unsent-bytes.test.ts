import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import { unsentBytes, unsentResponseBytes } from '../../../src/limits/connections.ts'
import type { BoundedRequest } from '../../../src/http/server/bounded-request.ts'
import { createResponseWriter } from '../../../src/http/server/node-adapter.ts'
import { UnsentBytes } from '../../../src/http/server/capacity/unsent-bytes.ts'
import { rawConnection, type RawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const megabyte = 1024 * 1024
/** More bytes than the kernel buffers for a client that reads nothing. */
const answerBytes = 16 * megabyte
/** The same with the head of the response. */
const heldBytes = answerBytes + unsentResponseBytes
const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

let server: TestServer | undefined
const connections: RawConnection[] = []
afterEach(async () => {
  for (const { socket } of connections.splice(0)) socket.destroy()
  await server?.close()
})

/** Opens a connection that sends a request and does not read the response. */
async function unreading(port: number, localAddress?: string): Promise<RawConnection> {
  const connection = await rawConnection(port, localAddress)
  connection.socket.pause()
  connection.send(get)
  connections.push(connection)
  return connection
}

async function serving(unsent: UnsentBytes, bodyOf: () => Buffer): Promise<{ port: number; sockets: Set<unknown> }> {
  const sockets = new Set<unknown>()
  server = await serverOf({
    listener: (request, response) => {
      sockets.add(request.socket)
      request.socket.once('close', () => sockets.delete(request.socket))
      const body = bodyOf()
      response.end(body)
      unsent.add(response, body, request.socket.remoteAddress ?? '')
      return Promise.resolve()
    },
  })
  return { port: server.port, sockets }
}

describe('responses that clients do not read', () => {
  test('are limited in total: the connection that holds the most bytes is closed', async () => {
    const unsent = new UnsentBytes(4 * heldBytes)
    let bytes = answerBytes
    const { port, sockets } = await serving(unsent, () => Buffer.alloc(bytes))
    for (let count = 1; count <= 4; count++) {
      await unreading(port)
      await expect.poll(() => unsent.bytes).toBe(count * heldBytes)
    }
    bytes = answerBytes + 1
    await unreading(port)
    await expect.poll(() => sockets.size).toBe(4)
    expect(unsent.bytes).toBe(4 * heldBytes)
  })

  test('are closed first for the sender that holds the most bytes, even if another sender has a larger one', async () => {
    const unsent = new UnsentBytes(5 * heldBytes)
    let bytes = answerBytes
    const { port, sockets } = await serving(unsent, () => Buffer.alloc(bytes))
    for (let count = 1; count <= 4; count++) {
      await unreading(port)
      await expect.poll(() => unsent.bytes).toBe(count * heldBytes)
    }
    bytes = 1.5 * answerBytes
    const other = await unreading(port, '127.0.0.2')
    await expect.poll(() => unsent.bytes).toBe(3 * heldBytes + bytes + unsentResponseBytes)
    expect(sockets.size).toBe(4)
    other.socket.destroy()
    await expect.poll(() => unsent.bytes).toBe(3 * heldBytes)
  })

  test('count once if they share the same bytes', async () => {
    const unsent = new UnsentBytes(2 * answerBytes)
    const body = Buffer.alloc(answerBytes)
    const { port, sockets } = await serving(unsent, () => body)
    for (let count = 0; count < 20; count++) await unreading(port)
    await expect.poll(() => sockets.size).toBe(20)
    expect(unsent.bytes).toBe(answerBytes + 20 * unsentResponseBytes)
    for (const { socket } of connections) socket.destroy()
    await expect.poll(() => unsent.bytes).toBe(0)
  })

  test('also count by their number, including those without a body', async () => {
    let cut = 0
    const write = createResponseWriter(new UnsentBytes(answerBytes + 40 * unsentResponseBytes))
    const body = Buffer.alloc(answerBytes)
    server = await serverOf({
      listener: (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => {
        if (request.method === 'GET') request.socket.once('close', () => cut++)
        return write(response, { status: 200, headers: [], bytes: request.method === 'GET' ? body : null }, '127.0.0.1')
      },
    })
    const rest = 'HEAD / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(9)
    for (let count = 0; count < 6; count++) (await unreading(server.port)).send(rest)
    await expect.poll(() => cut).toBe(2)
  })

  test('do not exceed the limit in a gateway', async () => {
    let cut = 0
    const write = createResponseWriter()
    server = await serverOf({
      listener: (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => {
        request.socket.once('close', () => cut++)
        return write(response, { status: 200, headers: [], bytes: Buffer.alloc(answerBytes) }, '127.0.0.1')
      },
    })
    const most = Math.floor(unsentBytes / heldBytes)
    for (let count = 0; count < most + 3; count++) await unreading(server.port)
    await expect.poll(() => cut).toBe(3)
  })
})

test('a client that does not read a response within the time limit of its length is disconnected', async () => {
  const clock = { now: 1_000, looks: 0 }
  const now = (): number => {
    clock.looks++
    return clock.now
  }
  const looksAgain = async (): Promise<void> => {
    const { looks } = clock
    await expect.poll(() => clock.looks).toBeGreaterThan(looks + 1)
  }
  const unsent = new UnsentBytes(unsentBytes, {
    graceSeconds: 10,
    bytesPerSecond: megabyte,
    sweepMilliseconds: 10,
    now,
  })
  let bytes = answerBytes
  const { port, sockets } = await serving(unsent, () => Buffer.alloc(bytes))
  await unreading(port)
  await expect.poll(() => unsent.bytes).toBe(heldBytes)
  bytes = 2 * answerBytes
  await unreading(port)
  await expect.poll(() => unsent.bytes).toBe(heldBytes + answerBytes + heldBytes)
  await looksAgain()
  clock.now += (10 + 16) * 1_000
  await looksAgain()
  expect([sockets.size, unsent.bytes]).toEqual([2, heldBytes + answerBytes + heldBytes])
  clock.now += 1
  await expect.poll(() => sockets.size).toBe(1)
  expect(unsent.bytes).toBe(answerBytes + heldBytes)
  clock.now += 16 * 1_000
  await expect.poll(() => sockets.size).toBe(0)
  expect(unsent.bytes).toBe(0)
  const { looks } = clock
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(clock.looks).toBe(looks)
})

test('a client that reads nothing of a response is disconnected at the idle timeout', async () => {
  const silentSeconds = 3
  const write = createResponseWriter()
  let timeouts: MockInstance<Socket['setTimeout']> | undefined
  let isCut = false
  server = await serverOf(
    {
      listener: (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => {
        timeouts = vi.spyOn(request.socket, 'setTimeout')
        request.socket.once('close', () => (isCut = true))
        return write(response, { status: 200, headers: [], bytes: Buffer.alloc(answerBytes) }, '127.0.0.1')
      },
    },
    { silentSeconds },
  )
  await unreading(server.port)
  await expect.poll(() => isCut).toBe(true)
  // At the end of the second of these periods, and not of two whole ones.
  expect(timeouts?.mock.calls[0]).toEqual([silentSeconds * 500])
})
