import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createConnectionPacing } from '../../../src/http/server/connection-pacing.ts'

test('new connections are read a few in each iteration of the event loop, and all of them', async () => {
  const pace = createConnectionPacing(2)
  let iteration = 0
  let isOver = false
  const count = (): void => {
    iteration++
    if (!isOver) setImmediate(count)
  }
  count()
  const readIn: number[] = []
  const server = createServer((socket) => {
    pace(socket)
    socket.once('data', () => {
      readIn.push(iteration)
      socket.end()
    })
  }).listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = Array.from({ length: 40 }, (): Socket => connect(port, '127.0.0.1').on('error', () => undefined))
  // Some leave before it is their turn.
  const leaving = clients.slice(0, 5)
  for (const client of clients) client.once('connect', () => client.write('x')).resume()
  for (const client of leaving) client.once('connect', () => client.destroy())
  for (const client of clients) if (!client.destroyed) await once(client, 'close')
  isOver = true
  server.close()
  expect(readIn.length).toBeGreaterThanOrEqual(clients.length - leaving.length)
  const inOne = new Map<number, number>()
  for (const at of readIn) inOne.set(at, (inOne.get(at) ?? 0) + 1)
  expect(Math.max(...inOne.values())).toBeLessThanOrEqual(4)
})
