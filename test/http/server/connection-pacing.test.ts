import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createConnectionPacing } from '../../../src/http/server/connection-pacing.ts'
import { connectionLimits } from '../../../src/limits.ts'

let server: Server | undefined
afterEach(() => server?.close())

/** Starts a server that reads each connection once and ends it. */
async function pacedServer(onRead: (socket: Socket) => void): Promise<number> {
  const pace = createConnectionPacing(connectionLimits.readPerIteration)
  server = createServer({ pauseOnConnect: true }, (socket) => {
    pace(socket)
    socket.once('data', () => {
      onRead(socket)
      socket.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const client = (port: number, localAddress = '127.0.0.1'): Socket =>
  connect({ port, host: '127.0.0.1', localAddress })
    .on('error', () => undefined)
    .once('connect', function (this: Socket) {
      this.write('x')
    })
    .resume()

test('new connections are read a few in each iteration of the event loop, and all of them', async () => {
  let iteration = 0
  let isOver = false
  const count = (): void => {
    iteration++
    if (!isOver) setImmediate(count)
  }
  count()
  const readIn: number[] = []
  const port = await pacedServer(() => readIn.push(iteration))
  const clients = Array.from({ length: 40 }, () => client(port))
  // Some leave before it is their turn.
  const leaving = clients.slice(0, 5)
  for (const each of leaving) each.once('connect', () => each.destroy())
  for (const each of clients) if (!each.destroyed) await once(each, 'close')
  isOver = true
  expect(readIn.length).toBeGreaterThanOrEqual(clients.length - leaving.length)
  const inOne = new Map<number, number>()
  for (const at of readIn) inOne.set(at, (inOne.get(at) ?? 0) + 1)
  expect(Math.max(...inOne.values())).toBeLessThanOrEqual(connectionLimits.readPerIteration)
})

// Loopback addresses other than 127.0.0.1 need no configuration on Linux only.
test.runIf(process.platform === 'linux')(
  'a new connection does not wait for those of another address that are slow to read',
  async () => {
    const order: (string | undefined)[] = []
    const port = await pacedServer(({ remoteAddress }) => {
      order.push(remoteAddress)
      const until = performance.now() + 20
      while (performance.now() < until);
    })
    const many = Array.from({ length: 60 }, () => client(port, '127.0.0.2'))
    await Promise.all(many.map((each) => once(each, 'connect')))
    await Promise.all([client(port), ...many].map((each) => once(each, 'close')))
    expect(order).toHaveLength(61)
    expect(order.indexOf('127.0.0.1')).toBeLessThan(20)
  },
)
