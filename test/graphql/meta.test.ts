import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { saveReadUntil } from '../../src/database/write/feed.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { withNotifiedVersions } from '../support/notified-versions.ts'
import { apply, feedOf, mark, midnight, opened, strategy, vaultA } from '../support/world.ts'

const whole = `{ _meta { version newestFactAt ageSeconds
  feeds { name line newestFactAt readUntil block { number hash timestamp } isStopped isWaiting } } }`

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  const named = (name: string) => ({ source: { ...feedOf([mark(vaultA, midnight + 9, '5')]), name } })
  await apply(database, [strategy('calm'), opened(vaultA, 'calm')])
  await apply(database, [], named('/srv/a/feed.ndjson'))
  await apply(database, [], named('/srv/b/feed.ndjson'))
  const block = { number: 5_000_000_000, hash: `0x${'ab'.repeat(32)}`, timestamp: midnight + 20 }
  await saveReadUntil(database, '/srv/b/feed.ndjson', 1, { readUntil: midnight + 20, block })
  // Its line differs from the one that was read last.
  await saveReadUntil(database, '/srv/a/feed.ndjson', 2, { readUntil: midnight + 20, block: null })
})
beforeEach(() => void database.takeStatements())

describe('_meta', () => {
  test('has the state of the data, and the position of each feed without its folder', async () => {
    const versions = new DataVersions()
    versions.listening(true)
    versions.committed({ version: '3.5', newestTs: midnight + 9 })
    versions.upToDate(performance.now())
    const gateway = gatewayOn(
      withNotifiedVersions(database, () => versions),
      {
        versions,
        feeds: () => ({
          stopped: ['/srv/b/feed.ndjson', '/srv/new.ndjson'],
          waiting: ['/srv/a/feed.ndjson'],
          setAside: [],
        }),
      },
    )
    expect(await gateway.query(whole)).toEqual({
      _meta: {
        version: '3.5',
        newestFactAt: midnight + 9,
        ageSeconds: 0,
        feeds: [
          feed('a/feed.ndjson', { newestFactAt: midnight + 9, isWaiting: true }),
          feed('b/feed.ndjson', {
            newestFactAt: midnight + 9,
            readUntil: midnight + 20,
            block: { number: 5_000_000_000, hash: `0x${'ab'.repeat(32)}`, timestamp: midnight + 20 },
            isStopped: true,
          }),
          feed('new.ndjson', { line: 0, newestFactAt: null, isStopped: true }),
          feed('standard input', { line: 2, newestFactAt: midnight }),
        ],
      },
    })
    expect(database.takeStatements()).toEqual(['feed_states'])
  })

  test('has no version while none is known, and reads no feeds unless they are selected', async () => {
    const gateway = gatewayOn(database)
    const none = { version: null, newestFactAt: null, ageSeconds: null }
    expect(await gateway.query('{ _meta { version newestFactAt ageSeconds } }')).toEqual({ _meta: none })
    expect(database.takeStatements()).toEqual([])
  })

  test('is produced for each request, also beside cached responses', async () => {
    const cache = createResponseCache(1024 * 1024)
    const versions = new DataVersions()
    cache.listening(true)
    versions.listening(true)
    versions.committed({ version: '3.5', newestTs: null })
    const gateway = gatewayOn(
      withNotifiedVersions(database, () => versions),
      { cache, versions },
    )
    const ask = (source: string) => gateway.query<{ _meta: { version: string } }>(source)
    for (const version of ['3.5', '4.6']) {
      if (version === '4.6') versions.committed({ version, newestTs: null })
      expect((await ask('{ _meta { version } strategies { id } }'))._meta.version).toBe(version)
      expect(
        (await ask('{ ...all } fragment all on Query { strategies { id } _meta { version } }'))._meta.version,
      ).toBe(version)
    }
    expect(cache.figures()).toMatchObject({ hits: 0, entries: 0 })
  })
})

function feed(name: string, told: object): object {
  return {
    name,
    line: 1,
    newestFactAt: null,
    readUntil: null,
    block: null,
    isStopped: false,
    isWaiting: false,
    ...told,
  }
}
