import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { liveLimits } from '../../../src/limits/live.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { type LiveObserver, LiveConnections } from '../../../src/http/live/delivery/live-connections.ts'
import { eventFrame } from '../../../src/http/live/delivery/server-sent-events.ts'
import { SharedResponses } from '../../../src/http/live/responses/shared-responses.ts'
import type { SharedQuery } from '../../../src/http/live/responses/shared-query.ts'
import { startStream } from '../../../src/http/server/byte-sink.ts'
import { heapBytes } from '../../support/heap.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const nothing = (): void => undefined
const bodyBytes = 250_000

let server: TestServer | undefined
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server?.close()
})

/** Starts a server whose streams all follow one large response, which changes when `change` is called. */
async function streaming(limits: Partial<typeof liveLimits | Record<keyof typeof liveLimits, number>>) {
  const closed: string[] = []
  const observer: LiveObserver = {
    onStreams: vi.fn(),
    onStreamRefused: nothing,
    onEvaluation: nothing,
    onDelivery: nothing,
    onStreamClosed: (reason) => void closed.push(reason),
  }
  const all = { ...liveLimits, pushMilliseconds: 0, pushFactor: 0, ...limits }
  const fanOut = createFanOut(all.slice, all.sliceMilliseconds)
  const connections = new LiveConnections({ limits: all, fanOut, observer, maxStreams: 1_000 })
  const versions = new DataVersions()
  versions.listening(true)
  const keys = new SharedResponses({ limits: all, fanOut, versions, onEvaluation: nothing, onDelivery: nothing })
  let number = 0
  const sharedQuery: SharedQuery = {
    name: 'large',
    evaluate: () => {
      const body = `{"number":${number},"text":"${'x'.repeat(bodyBytes)}"}`
      return Promise.resolve({ response: new EncodedResponse({ status: 200, headers: {}, body }), version: '1.1' })
    },
    frame: (body) => eventFrame({ event: 'snapshot', id: String(number), data: body }),
    refusal: () => ({ frame: Buffer.alloc(0), isEnd: true }),
    staleFrame: Buffer.alloc(0),
    ownStaleFrame: Buffer.alloc(0),
  }
  server = await serverOf({
    listener: (request, response) => {
      const place = connections.admit(request.url ?? '')
      if ('status' in place) return Promise.reject(new Error('refused'))
      keys.follow(sharedQuery, connections.open(startStream(response, []), place))
      return Promise.resolve()
    },
  })
  return {
    port: server.port,
    closed,
    open: () => vi.mocked(observer.onStreams).mock.lastCall?.[0] ?? 0,
    change: () => {
      number++
      keys.committed(['anything'])
    },
  }
}

/** Requests a stream, and reads nothing of it. */
function request(port: number): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /one HTTP/1.1\r\nHost: x\r\n\r\n'))
  socket.pause().on('error', nothing)
  sockets.push(socket)
  return socket
}

test('clients that never read are closed and counted, and take little memory', async () => {
  const clients = 15
  const { port, closed, open, change } = await streaming({ stallSeconds: 0.5, heartbeatSeconds: 0.1 })
  for (let count = 0; count < clients; count++) request(port)
  await expect.poll(() => open()).toBe(clients)
  heapBytes()
  const before = process.memoryUsage().arrayBuffers
  let maximum = 0
  for (let changes = 0; changes < 300 && closed.length < clients; changes++) {
    change()
    await wait(5)
    if (changes % 20 === 0) {
      heapBytes()
      maximum = Math.max(maximum, process.memoryUsage().arrayBuffers - before)
    }
  }
  await expect.poll(() => closed).toEqual(Array.from({ length: clients }, () => 'slow'))
  expect(maximum).toBeLessThan(20 * 1024 * 1024)
})

test('the unread bytes of all streams are limited: those with the most are closed', async () => {
  const [clients, unsentInAll] = [12, 8 * bodyBytes]
  const { port, closed, open, change } = await streaming({ unsentInAll, unsentBytes: 1e9, stallSeconds: 60 })
  const reader = request(port)
  reader.resume()
  for (let count = 1; count < clients; count++) request(port)
  await expect.poll(() => open()).toBe(clients)
  for (let changes = 0; changes < 60; changes++) {
    change()
    await wait(25)
  }
  // The last bytes of a frame that all streams wait for are in memory once.
  await expect.poll(() => closed.length).toBeGreaterThanOrEqual(clients - 2)
  expect(new Set(closed)).toEqual(new Set(['slow']))
  expect(reader.destroyed).toBe(false)
})

test('a client that does not read the end of its stream is closed too', async () => {
  const { port, closed, open, change } = await streaming({
    lifeSeconds: 5,
    stallSeconds: 0.5,
    heartbeatSeconds: 0.1,
    unsentBytes: 1e9,
  })
  request(port)
  await expect.poll(() => open()).toBe(1)
  // More than the buffers of the operating system hold, before the stream reaches its maximum age.
  for (let changes = 0; changes < 60; changes++) {
    change()
    await wait(5)
  }
  await expect.poll(() => closed).toEqual(['slow'])
})

test('a client that reads again gets the newest response, and skips older ones', async () => {
  const { port, change, open } = await streaming({ heartbeatSeconds: 60 })
  const socket = request(port)
  await expect.poll(() => open()).toBe(1)
  for (let changes = 0; changes < 100; changes++) {
    change()
    await wait(3)
  }
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  socket.resume()
  await expect.poll(() => text).toContain('"number":100')
  const numbers = Array.from(text.matchAll(/"number":(\d+)/g), ([, digits]) => Number(digits))
  expect(numbers).toEqual([...numbers].sort((first, second) => first - second))
  expect(numbers.length).toBeLessThan(60)
})
