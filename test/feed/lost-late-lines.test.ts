import { appendFile, link, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { empty, emptyDatabase } from '../support/database.ts'
import { fallingBack } from '../support/falling-back.ts'
import { feedText } from '../support/feeds.ts'
import { becomes } from '../support/followed-run.ts'
import { feedOf, strategy } from '../support/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lost-late-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('late lines of a file that a failover has lost are applied again, though the position in the next one is there', async () => {
  const feed = path.join(folder, 'feed.ndjson')
  const [first, second] = [[strategy('first')], [strategy('second'), strategy('more')]]
  const real = await emptyDatabase()
  const { database, beforeNext } = fallingBack(real)
  const storedLine = async () => (await readFeedPosition(real.prisma, feed))?.line
  const stopping = new AbortController()
  const reopened: (number | undefined)[] = []
  let batches = 0
  await writeFile(feed, feedText(first))
  const following = ingest({
    database,
    source: await followedSource(feed, null, stopping.signal),
    signal: stopping.signal,
    onProgress: () => void batches++,
    onReopen: (stored) => void reopened.push(stored?.line),
  })
  await becomes(async () => expect(await storedLine()).toBe(1))
  await link(feed, `${feed}.1`)
  await writeFile(`${feed}.new`, feedText(second))
  await rename(`${feed}.new`, feed)
  await becomes(() => expect(batches).toBe(2))
  await appendFile(`${feed}.1`, feedText([strategy('late')]))
  await becomes(() => expect(batches).toBe(4))
  expect(await storedLine()).toBe(second.length)
  expect(await real.prisma.strategy.count()).toBe(4)
  beforeNext(async () => {
    await empty(real)
    for (const facts of [first, second]) await ingest({ database: real, source: { ...feedOf(facts), name: feed } })
  })
  await appendFile(feed, feedText([strategy('last')]))
  await becomes(async () => expect(await real.prisma.strategy.findUnique({ where: { id: 'last' } })).not.toBeNull())
  await becomes(async () => expect(await real.prisma.strategy.count()).toBe(5))
  stopping.abort()
  await following
  expect(reopened).toEqual([second.length])
})
