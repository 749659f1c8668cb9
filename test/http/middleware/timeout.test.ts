import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ReadCancelled } from '../../../src/database/errors.ts'
import type { Database } from '../../../src/database/database.ts'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { defaultHttpLimits } from '../../../src/limits.ts'
import { emptyDatabase, readingBy } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, failing, hanging, problemOf } from '../../support/problem.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

const answerSeconds = 0.05
const query = '{ strategies { id } }'

let database: Database
let cancelled: unknown[]
let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  database = await emptyDatabase()
  cancelled = []
  gateway = gatewayOn(recordingCancellations(hanging(database)), { limits: { ...defaultHttpLimits, answerSeconds } })
  // Loading modules at the first request does not count towards the timeout.
  await vi.waitFor(async () => expect((await gateway.post('{ __typename }')).status).toBe(200), { timeout: 30_000 })
  server = await serverOf(gatewayOn(recordingCancellations(hanging(database))).app)
})
afterAll(() => server.close())

/** Records the errors that end the reads of a database. */
function recordingCancellations(hung: Database): Database {
  const record = (error: unknown): never => {
    cancelled.push(error)
    throw error
  }
  return readingBy(hung, (read, values, signal, reader) => reader.read(read, values, signal).catch(record))
}

test('a response that takes too long is cancelled, over REST', async () => {
  cancelled = []
  const response = await gateway.get('/strategies')
  expect(response.headers.get('retry-after')).toBe('2')
  expect(await problemOf(response, 503)).toMatchObject({
    type: 'urn:vault-gateway:problem:deadline-exceeded',
    detail: 'The answer took more than 0.05 s. Request less data, or try again later.',
  })
  expect(cancelled).toEqual([expect.any(ReadCancelled)])
  expect(gateway.reported).toEqual([])
})

test('and over GraphQL', async () => {
  cancelled = []
  const response = await gateway.post(query)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
  expect((await errorOf(response)).extensions).toEqual({ code: 'DEADLINE_EXCEEDED' })
  expect(cancelled).toEqual([expect.any(ReadCancelled)])
  expect(gateway.reported).toEqual([])
})

test('a response whose client has left is cancelled', async () => {
  cancelled = []
  const socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET /strategies HTTP/1.1\r\nHost: gateway\r\n\r\n')
  await expect.poll(() => server.running()).toBe(1)
  expect(cancelled).toEqual([])
  socket.destroy()
  await expect.poll(() => cancelled).toEqual([expect.any(ReadCancelled)])
})

test('a database that does not answer is 503, and not reported', async () => {
  const without = gatewayOn(failing(database, new DatabaseUnavailable('it is stopped')))
  const overRest = await without.get('/universe')
  expect(overRest.headers.get('retry-after')).toBe('2')
  expect(await problemOf(overRest, 503)).toMatchObject({
    type: 'urn:vault-gateway:problem:database-unavailable',
    detail: 'The database does not answer now. Try again later.',
  })
  const overGraphql = await without.post(query)
  expect([overGraphql.status, overGraphql.headers.get('retry-after')]).toEqual([503, '2'])
  expect((await errorOf(overGraphql)).extensions).toEqual({ code: 'DATABASE_UNAVAILABLE' })
  expect(without.reported).toEqual([])
})
