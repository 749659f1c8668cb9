import { appendFile, link, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { empty, emptyDatabase } from '../support/database.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText } from '../support/feeds.ts'
import { eventually } from '../support/followed-run.ts'
import { feedOf, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lost-late-'))
})
afterAll(() => rm(folder, { recursive: true }))

const ofVault = {
  first: [strategy('one'), opened(vaultA, 'one'), mark(vaultA, midnight + 10, '100')],
  second: [strategy('two'), mark(vaultA, midnight + 20, '101')],
  late: mark(vaultA, midnight + 30, '102'),
}

test.each([
  {
    what: 'late lines of a file that a failover has lost',
    first: [strategy('first')],
    second: [strategy('second'), strategy('more')],
    late: strategy('late'),
    kept: 2,
  },
  { what: 'late lines of a vault that has facts in both files', ...ofVault, kept: 2 },
  { what: 'facts of the next file, which are older than late lines that are lost with them,', ...ofVault, kept: 1 },
  {
    what: 'all facts of the next file',
    first: [strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'one'), mark(vaultB, midnight + 10, '100')],
    second: [mark(vaultB, midnight + 20, '101')],
    late: mark(vaultA, midnight + 30, '102'),
    kept: 0,
  },
])('$what are applied again, though $kept of its lines are there', async ({ first, second, late, kept }) => {
  const feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
  const real = await emptyDatabase()
  const { database, beforeNext } = withTransactionHook(real)
  const storedLine = async () => (await readFeedPosition(real.prisma, feed))?.line
  const factCount = async (): Promise<number> => {
    const { strategy: strategies, vault, equityPoint } = real.prisma
    const counts = await Promise.all([strategies.count(), vault.count(), equityPoint.count()])
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const stopping = new AbortController()
  const reopened: (number | undefined)[] = []
  let batches = 0
  await writeFile(feed, feedText(first))
  const following = ingest({
    database,
    source: await followedSource(feed, null, stopping.signal),
    signal: stopping.signal,
    rejects: rejectsFile(`${feed}.rejects`),
    onBatch: () => void batches++,
    onReopen: (position) => void reopened.push(position?.line),
  })
  await eventually(async () => expect(await storedLine()).toBe(first.length))
  await link(feed, `${feed}.1`)
  await writeFile(`${feed}.new`, feedText(second))
  await rename(`${feed}.new`, feed)
  await eventually(() => expect(batches).toBe(2))
  await appendFile(`${feed}.1`, feedText([late]))
  await eventually(() => expect(batches).toBe(4))
  const facts = first.length + second.length + 1
  expect(await storedLine()).toBe(second.length)
  expect(await factCount()).toBe(facts)
  beforeNext(async () => {
    await empty(real)
    for (const lines of [first, second.slice(0, kept)])
      await ingest({ database: real, source: { ...feedOf(lines), name: feed } })
  })
  await appendFile(feed, feedText([strategy('last')]))
  await eventually(async () => expect(await real.prisma.strategy.findUnique({ where: { id: 'last' } })).not.toBeNull())
  await eventually(async () => expect(await factCount()).toBe(facts + 1))
  stopping.abort()
  expect((await following).rejected).toEqual({})
  expect(reopened).toEqual([kept === 0 ? first.length : kept])
})
