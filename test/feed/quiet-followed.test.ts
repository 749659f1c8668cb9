import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { empty, emptyDatabase } from '../support/database.ts'
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
