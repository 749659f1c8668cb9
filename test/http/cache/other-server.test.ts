import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { empty, emptyDatabase } from '../../support/database.ts'
import { deferred } from '../../support/deferred.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { feedOf, strategy } from '../../support/world.ts'

const history = [[strategy('one')], [strategy('two')], [strategy('three')]]

const longer = [...history, [strategy('four')]]

/**
 * Requests the strategies; while they are read, another history takes the place of the one whose newest version was notified.
 * @param keep number of commits that both histories have
 * @param onMoved called with the newest version of the other history
 */
async function answerAcross(
  other: typeof history,
  { keep = 0, cacheBytes = 0, onMoved = () => undefined }: AcrossOptions = {},
) {
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
  if (keep === 0) await empty(real)
  for (const facts of other.slice(keep)) await ingest({ database: real, source: feedOf(facts) })
  onMoved(versions, (await real.prisma.dataHead.findFirst())?.version ?? '')
  continued.resolve()
  return { response: await answer, lost }
}

interface AcrossOptions {
  readonly keep?: number
  readonly cacheBytes?: number
  readonly onMoved?: (versions: DataVersions, version: string) => void
}

/** The connection of notifications ends, and is established to the other server. */
function reconnect(versions: DataVersions, version: string): void {
  versions.listening(false)
  versions.listening(true)
  versions.committed({ version, newestTs: null })
}

test.each<[string, typeof history, AcrossOptions]>([
  ['lower', history.slice(0, 1), {}],
  ['lower, with a cache', history.slice(0, 1), { cacheBytes: 1_000_000 }],
  ['the same', history, {}],
  ['higher, and no notifications', longer, { onMoved: (versions) => versions.listening(false) }],
  ['higher, and its notifications', longer, { onMoved: reconnect }],
  ['higher, with a cache', longer, { onMoved: reconnect, cacheBytes: 1_000_000 }],
  [
    'higher, and notifications of the lost one',
    longer,
    { onMoved: (versions) => versions.committed({ version: '4.0a1b2c3d', newestTs: null }) },
  ],
  ['no', [], {}],
  ['no, with a cache', [], { cacheBytes: 1_000_000 }],
])('data of another history with %s numbers is not sent under a version that it lacks', async (_, other, options) => {
  const { response } = await answerAcross(other, options)
  expect(response.status).toBe(503)
  expect(response.headers.get('data-version')).toBeNull()
  expect(await response.json()).toMatchObject({ type: 'urn:vault-gateway:problem:data-not-there-yet' })
})

test.each([0, 1_000_000])('data of a later version is sent, with %i bytes of cache', async (cacheBytes) => {
  const onMoved = (versions: DataVersions, version: string): void => versions.committed({ version, newestTs: null })
  const { response, lost } = await answerAcross(longer, { keep: history.length, cacheBytes, onMoved })
  expect([response.status, response.headers.get('data-version')]).toEqual([200, lost])
})

test('data of a later version is sent once its commit was notified', async () => {
  const { response, lost } = await answerAcross(longer, {
    keep: history.length,
    onMoved: (versions, version) => setImmediate(() => versions.committed({ version, newestTs: null })),
  })
  expect([response.status, response.headers.get('data-version')]).toEqual([200, lost])
})

test('data of a later version starts a poll for its commit', async () => {
  const { response, lost } = await answerAcross(longer, {
    keep: history.length,
    onMoved(versions, version) {
      versions.onWait = () => versions.committed({ version, newestTs: null })
    },
  })
  expect([response.status, response.headers.get('data-version')]).toEqual([200, lost])
})

/** A gateway whose first read waits, and a request that waits for the response of the one with that read. */
async function joinSlowProduction() {
  const real = await emptyDatabase()
  for (const facts of history) await ingest({ database: real, source: feedOf(facts) })
  const { version } = await real.prisma.dataHead.findFirstOrThrow()
  const versions = new DataVersions()
  const cache = createResponseCache(1_000_000)
  cache.listening(true)
  versions.listening(true)
  versions.committed({ version, newestTs: null })
  const [reading, continued] = [deferred(), deferred()]
  let reads = 0
  const database: Database = {
    ...real,
    async read(...args) {
      if (++reads === 1) {
        reading.resolve()
        await continued.promise
      }
      return real.read(...args)
    },
  }
  const gateway = gatewayOn(database, { versions, cache, trustedProxies: 1 })
  const get = (client: string) => gateway.get('/strategies', { headers: { 'x-forwarded-for': client } })
  const slow = get('192.0.2.1')
  onTestFinished(async () => {
    continued.resolve()
    await slow
  })
  await reading.promise
  return { cache, versions, version, get, joined: get('192.0.2.2') }
}

test('data of a production that starts after a commit, as the request has waited for another, is not sent without that commit', async () => {
  const { cache, versions, get, joined } = await joinSlowProduction()
  // The commit is on a server that reads have left.
  cache.committed({ tags: null })
  versions.committed({ version: '4.0a1b2c3d', newestTs: null })
  expect((await joined).status).toBe(503)
  expect((await get('192.0.2.3')).status).toBe(503)
})

test('data of a production that starts after an interruption of notifications is sent with the version of after it', async () => {
  const { cache, versions, version, joined } = await joinSlowProduction()
  cache.listening(false)
  versions.listening(false)
  cache.listening(true)
  versions.listening(true)
  versions.committed({ version, newestTs: 100 })
  const { status, headers } = await joined
  expect([status, headers.get('data-version'), headers.get('data-time')]).toEqual([200, version, '100'])
})
