import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { eachPool, openReadPools, poolsOf, readsOn, snapshotsOf } from '../../../src/database/postgresql/read-pools.ts'
import { openPostgreSqlWriter } from '../../../src/database/postgresql/writer.ts'

/** AuthenticationOk and ReadyForQuery: a server that accepts a connection, and does not respond on it. */
const accepted = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

/** ErrorResponse of a server with Russian messages: the database does not exist. */
const fields = 'SВАЖНО\0VFATAL\0C3D000\0Mбаза данных "database" не существует\0\0'
const missing = Buffer.concat([Buffer.from([0x45, 0, 0, 0, 4 + Buffer.byteLength(fields)]), Buffer.from(fields)])

const sockets: Socket[] = []
let answer = accepted
const server = createServer((socket) => {
  sockets.push(socket.on('error', () => undefined))
  socket.once('data', () => socket.write(answer))
})
const listening = async (): Promise<string> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `postgres://role@127.0.0.1:${(server.address() as AddressInfo).port}/database`
}
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

test('a read fails where its server accepts a connection and then does not respond', async () => {
  answer = accepted
  const url = await listening()
  const pools = openReadPools(
    poolsOf(url, 2, () => undefined),
    2,
  )
  await expect(pools.short.query('select 1')).rejects.toThrow(/no session within/)
  expect(pools.short.totalCount).toBe(0)
  await Promise.all(eachPool(pools).map((pool) => pool.end()))
})

test('a server that refuses a connection in another language is an outage of reads and transactions', async () => {
  answer = missing
  const url = await listening()
  const pools = openReadPools(
    poolsOf(url, 2, () => undefined),
    2,
  )
  const reading = readsOn(pools).read({ name: 'one', text: 'select 1 as one' }, [])
  await expect(reading).rejects.toBeInstanceOf(DatabaseUnavailable)
  const writer = openPostgreSqlWriter(url)
  const writing = writer.transaction(() => Promise.resolve())
  await expect(writing).rejects.toBeInstanceOf(DatabaseUnavailable)
  await expect(writing).rejects.toThrow(/rejects the connection: база данных "database" не существует\.$/)
  await writer.close()
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
