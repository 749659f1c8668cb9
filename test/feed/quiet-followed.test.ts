import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { requireApplied } from '../../src/feed/position/verified-position.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { CommitsLost } from '../../src/feed/position/expected-state.ts'
import { empty, emptyDatabase, type TestDatabase } from '../support/database.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText } from '../support/feeds.ts'
import { feedOf, midnight, strategy } from '../support/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'quiet-followed-'))
})
afterAll(() => rm(folder, { recursive: true }))

const many = (of: string, count: number) => Array.from({ length: count }, (_, at) => strategy(`${of}-${at}`))

test.each([
  ['short', 1, 3],
  ['long', 20, 40],
])(
  'what a failover loses of a %s file is applied again, though nothing of it was read since the start, and the position is in the file before',
  async (_how, count, countBefore) => {
    const feed = path.join(folder, `${count}.ndjson`)
    const [earlier, current] = [many('earlier', countBefore), many('current', count)]
    await writeFile(`${feed}.1`, feedText(earlier))
    await writeFile(feed, feedText(current))
    const database = await emptyDatabase()
    await ingest({ database, source: { ...feedOf(earlier), name: feed } })
    await ingest({ database, source: { ...feedOf(current), name: feed } })
    const stopping = new AbortController()
    const source = await followedSource(feed, await readFeedPosition(database.prisma, feed), stopping.signal)
    expect(source.start.line).toBe(count)
    await empty(database)
    await ingest({ database, source: { ...feedOf(earlier), name: feed } })
    const reopened: (number | undefined)[] = []
    const following = ingest({
      database,
      source,
      signal: stopping.signal,
      nowSeconds: () => midnight + 1_000,
      onReopen: (stored) => void reopened.push(stored?.line),
    })
    await vi.waitFor(async () => expect(await database.prisma.strategy.count()).toBe(countBefore + count), {
      timeout: 30_000,
      interval: 50,
    })
    stopping.abort()
    await following
    expect(reopened).toEqual([countBefore])
  },
)

describe('a run without new facts that has skipped facts of another feed', () => {
  /** Returns the expected state of such a run, and the version of a later commit of another feed. */
  async function quietRun(database: TestDatabase) {
    const newest = async (): Promise<string> => (await database.prisma.dataHead.findFirstOrThrow()).version
    await ingest({ database, source: feedOf([strategy('one')]) })
    const version = await newest()
    await ingest({ database, source: feedOf([strategy('two')]) })
    const expected = { startsAfter: undefined, lastPosition: null, version }
    return { run: { source: { name: 'quiet' }, expected }, version, newestVersion: await newest() }
  }

  test('relies on a newer commit before its own is pruned from the log', async () => {
    const database = await emptyDatabase()
    const { run, version, newestVersion } = await quietRun(database)
    await requireApplied(database, run)
    expect(run.expected.version).toBe(version)
    const twoDaysAgo = Math.floor(Date.now() / 1000) - 2 * 86_400
    await database.prisma.commitLog.updateMany({ where: { version }, data: { at: twoDaysAgo } })
    await requireApplied(database, run)
    expect(run.expected.version).toBe(newestVersion)
    await database.prisma.commitLog.deleteMany({ where: { version } })
    await requireApplied(database, run)
    await empty(database)
    await expect(requireApplied(database, run)).rejects.toThrow(CommitsLost)
  })

  test('keeps the state of a batch that was applied while it was verified', async () => {
    const real = await emptyDatabase()
    const { run, version } = await quietRun(real)
    const ofBatch = { ...run.expected }
    const { database, beforeNext } = withTransactionHook(real)
    beforeNext(() => Promise.resolve((run.expected = ofBatch)))
    await requireApplied(database, run)
    expect(run.expected).toBe(ofBatch)
    expect(ofBatch.version).toBe(version)
  })
})
