import { expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { empty, emptyDatabase } from '../../support/database.ts'
import { deferred } from '../../support/deferred.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { feedOf, strategy } from '../../support/world.ts'

const history = [[strategy('one')], [strategy('two')], [strategy('three')]]

/** Requests the strategies; while they are read, another history takes the place of the one whose newest version was notified. */
async function answerAcross(other: readonly (typeof history)[number][], cacheBytes: number) {
  const real = await emptyDatabase()
  for (const facts of history) await ingest({ database: real, source: feedOf(facts) })
  const lost = (await real.prisma.dataHead.findFirstOrThrow()).version
  const versions = new DataVersions()
  const cache = createResponseCache(cacheBytes)
  cache.listening(true)
  versions.listening(true)
  versions.committed({ version: lost, newestTs: null })
  versions.upToDate(performance.now())
  const [reading, continued] = [deferred(), deferred()]
  const database: Database = {
    ...real,
    async read(...args) {
      reading.resolve()
      await continued.promise
      return real.read(...args)
    },
  }
  const gateway = gatewayOn(database, { versions, cache })
  const answer = gateway.get('/strategies', { headers: { 'min-data-version': lost } })
  await reading.promise
  await empty(real)
  for (const facts of other) await ingest({ database: real, source: feedOf(facts) })
  continued.resolve()
  return { response: await answer, lost }
}

test.each([
  ['lower', history.slice(0, 1), 0],
  ['lower, with a cache', history.slice(0, 1), 1_000_000],
  ['the same', history, 0],
])(
  'data of another history with %s numbers is not sent under a version that it lacks',
  async (_, other, cacheBytes) => {
    const { response } = await answerAcross(other, cacheBytes)
    expect(response.status).toBe(503)
    expect(response.headers.get('data-version')).toBeNull()
    expect(await response.json()).toMatchObject({ type: 'urn:vault-gateway:problem:data-not-there-yet' })
  },
)

const longer = [...history, [strategy('four')]]

test('data of a later version is sent', async () => {
  const { response, lost } = await answerAcross(longer, 0)
  expect([response.status, response.headers.get('data-version')]).toEqual([200, lost])
})
