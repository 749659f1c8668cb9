import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { eachPool, openReadPools, poolsOf, readsOn, snapshotsOf } from '../../../src/database/postgresql/read-pools.ts'

/** AuthenticationOk and ReadyForQuery: a server that accepts a connection, and answers nothing on it. */
const accepted = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

const sockets: Socket[] = []
const server = createServer((socket) => {
  sockets.push(socket.on('error', () => undefined))
  socket.once('data', () => socket.write(accepted))
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

test('a read fails where its server accepts a connection and then answers nothing', async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://role@127.0.0.1:${(server.address() as AddressInfo).port}/database`
  const pools = openReadPools(
    poolsOf(url, 2, () => undefined),
    2,
  )
  await expect(pools.short.query('select 1')).rejects.toThrow(/no session within/)
  expect(pools.short.totalCount).toBe(0)
  await Promise.all(eachPool(pools).map((pool) => pool.end()))
})

test.each([
  [2, 1],
  [3, 1],
  [4, 2],
  [5, 3],
  [10, 6],
  [1_000, 600],
])('of %i connections for reads %i are for snapshots', (connections, snapshots) => {
  const pools = openReadPools(
    poolsOf('postgres://role@127.0.0.1:1/database', connections, () => undefined),
    connections,
  )
  expect([readsOn(pools).snapshotsAtOnce, snapshotsOf(connections)]).toEqual([snapshots, snapshots])
})
