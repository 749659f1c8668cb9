import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type DatabaseIdentity,
  endOfRecord,
  foreignReason,
} from '../../../../src/database/postgresql/replicas/log-probe.ts'
import { PrimaryLog } from '../../../../src/database/postgresql/replicas/primary-log.ts'
import { Replica } from '../../../../src/database/postgresql/replicas/replica.ts'

const readyForQuery = [0x5a, 0, 0, 0, 5, 0x49]
/** AuthenticationOk and ReadyForQuery: a server that accepts a connection. */
const accepted = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, ...readyForQuery])

/** ErrorResponse and ReadyForQuery: a statement is refused, and the connection stays open. */
function refusal(): Buffer {
  const fields = Buffer.from('SERROR\0C42501\0Mpermission denied for function pg_control_system\0\0')
  const length = Buffer.alloc(4)
  length.writeInt32BE(fields.length + 4)
  return Buffer.concat([Buffer.from('E'), length, fields, Buffer.from(readyForQuery)])
}

let server: Server
let url: string
const open = new Set<Socket>()
let connections = 0

beforeEach(async () => {
  connections = 0
  server = createServer((socket) => {
    connections++
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    socket.once('data', () => {
      socket.write(accepted)
      socket.on('data', () => socket.write(refusal()))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `postgres://role@127.0.0.1:${(server.address() as AddressInfo).port}/database`
})
afterEach(() => {
  for (const socket of open) socket.destroy()
  server.close()
})

test('the connection to a primary that does not return its identity is closed', async () => {
  const primary = new PrimaryLog(url, () => undefined)
  for (const _ of [1, 2, 3]) expect(await primary.ask()).toBeNull()
  expect(primary.problem).toMatch(/permission denied/)
  expect(connections).toBe(3)
  await expect.poll(() => open.size).toBe(0)
})

test('the connection to a replica that does not return its identity is closed', async () => {
  const replica = new Replica(url, () => undefined)
  for (const _ of [1, 2, 3]) await replica.check(null, null, null)
  expect(replica.problem).toMatch(/permission denied/)
  expect(connections).toBe(3)
  await expect.poll(() => open.size).toBe(0)
})

test.each<[string, Partial<DatabaseIdentity>, string | null]>([
  ['the same database', {}, null],
  ['a database that was created again', { oid: '2' }, null],
  ['a database that was renamed', { database: 'old' }, null],
  ['another database', { database: 'old', oid: '2' }, "leads to another database: it is old, and the primary's is app"],
  ['another cluster', { system: '8' }, "is of another cluster: its system identifier is 8, and the primary's is 7"],
])('%s is a replica, may become one, or never will', (_, own, reason) => {
  const primary = { system: '7', database: 'app', oid: '1' }
  expect(foreignReason({ ...primary, ...own }, primary)).toBe(reason)
})

test('an insert position behind the header of a page that has no record yet is the end of the page before', () => {
  const page = 3n * 8192n
  expect([0n, 24n, 40n].map((header) => endOfRecord(page + header))).toEqual([page, page, page])
  expect([48n, 8191n].map((used) => endOfRecord(page + used))).toEqual([page + 48n, page + 8191n])
})
