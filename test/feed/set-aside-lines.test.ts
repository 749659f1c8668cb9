import { writeFileSync } from 'node:fs'
import { appendFile, link, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { inText, readFeedPosition } from '../../src/database/write/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import type { PathWatcher } from '../../src/feed/reading/growing-file.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { type ByteSource, fileSource } from '../../src/feed/reading/source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { createDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText } from '../support/feeds.ts'
import { mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

const day = 86_400
const marksOf = (vault: string, from: number, count = 5): FactInput[] =>
  Array.from({ length: count }, (_, at) => mark(vault, midnight + from + at, String(at + 1)))
/** Set aside, because its vault is opened later, and newer than all other facts of its vault. */
const early = mark(vaultA, midnight + 1_000, '7')

let database: TestDatabase
let folder: string
let feed: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'set-aside-'))
})
beforeEach(async () => {
  database = await emptyDatabase()
  feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
})
afterAll(() => rm(folder, { recursive: true }))

const stored = (of: Database = database) => readFeedPosition(of.prisma, feed)
const rejects = () => rejectsFile(`${feed}.rejects.ndjson`)
const points = (of: Database = database): Promise<number> => of.prisma.equityPoint.count()

/** Applies the file like the command, and returns the numbers of applied, skipped and rejected lines. */
async function applyFile(options: Partial<IngestOptions> = {}): Promise<number[]> {
  const source = await fileSource(feed, await stored(options.database))
  return apply({ source, ...options })
}

async function apply(options: Pick<IngestOptions, 'source'> & Partial<IngestOptions>): Promise<number[]> {
  const { applied, skipped, rejected } = await ingest({ database, rejects: rejects(), ...options })
  return [applied, skipped, rejected].map((counts) => Object.values(counts).reduce((sum, count) => sum + count, 0))
}

describe('lines that were set aside, in a file that grows,', () => {
  test('are applied where another feed has published their strategy', async () => {
    await writeFile(feed, feedText([strategy('one'), opened(vaultA, 'two'), ...marksOf(vaultA, 1)]))
    expect(await applyFile()).toEqual([1, 0, 6])
    await applyOther(strategy('two'))
    await appendFile(feed, feedText(marksOf(vaultA, 100)))
    expect(await applyFile()).toEqual([11, 1, 0])
  })

  test('are applied where another feed has opened their vault', async () => {
    await writeFile(feed, feedText(marksOf(vaultA, 1)))
    expect(await applyFile()).toEqual([0, 0, 5])
    await applyOther(strategy('one'), opened(vaultA, 'one'))
    await appendFile(feed, feedText(marksOf(vaultA, 100)))
    expect(await applyFile()).toEqual([10, 0, 0])
  })

  test('are applied where the clock was behind, also to a vault that has earlier facts', async () => {
    const known = [strategy('one', midnight - 9 * day), opened(vaultA, 'one', midnight - 9 * day)]
    await writeFile(
      feed,
      feedText([...known, strategy('two', midnight - 1), opened(vaultB, 'two'), ...marksOf(vaultA, 1)]),
    )
    expect(await applyFile({ nowSeconds: () => midnight - 9 * day })).toEqual([2, 0, 7])
    await appendFile(feed, feedText([...marksOf(vaultA, 100), ...marksOf(vaultB, 100)]))
    const read = await fileSource(feed, await stored())
    const source = inPieces(read, [
      feedText([...known, strategy('two', midnight - 1), opened(vaultB, 'two')]).length + 300,
    ])
    expect(await apply({ source, nowSeconds: () => midnight })).toEqual([17, 2, 0])
  })

  test('remain so where the vault has facts of later lines, for any sizes of batches', async () => {
    const before = [strategy('one'), early, opened(vaultA, 'one'), ...marksOf(vaultA, 1)]
    const after = [...marksOf(vaultA, 100), opened(vaultB, 'one'), ...marksOf(vaultB, 100)]
    await writeFile(feed, feedText(before))
    expect(await applyFile()).toEqual([7, 0, 1])
    await appendFile(feed, feedText(after))
    const source = inPieces(await fileSource(feed, await stored()), [feedText(before.slice(0, 2)).length, 200])
    expect(await apply({ source })).toEqual([11, 7, 1])
    expect(await applyFile()).toEqual([1, 18, 0])
  })

  test('remain so where their vault is opened by a later batch, and has no other facts', async () => {
    const before = [strategy('one'), early, opened(vaultA, 'one')]
    await writeFile(feed, feedText(before))
    expect(await applyFile()).toEqual([2, 0, 1])
    await appendFile(feed, feedText(marksOf(vaultA, 1)))
    const source = inPieces(await fileSource(feed, await stored()), [feedText(before.slice(0, 2)).length])
    expect(await apply({ source })).toEqual([5, 2, 1])
  })

  test('are applied in order by runs that are killed, and by the next one', async () => {
    const aside = [opened(vaultA, 'two'), ...marksOf(vaultA, 1)]
    await writeFile(feed, feedText([strategy('one'), ...aside]))
    await applyFile()
    await applyOther(strategy('two'))
    await appendFile(feed, feedText(marksOf(vaultA, 100)))
    const position = await stored()
    const killed = await fileSource(feed, position)
    const isKilled = true
    await apply({ source: inPieces(killed, [feedText([strategy('one'), ...aside.slice(0, 3)]).length], isKilled) })
    expect(await points()).toBe(2)
    expect(await stored()).toEqual(position)
    expect(await applyFile()).toEqual([8, 4, 0])
  })

  async function applyOther(...facts: FactInput[]): Promise<void> {
    const other = path.join(path.dirname(feed), 'other.ndjson')
    await writeFile(other, feedText(facts))
    await apply({ source: await fileSource(other) })
  }
})

describe('after a failover that has lost commits, lines that were handled are no longer set aside', () => {
  const parts = [
    [strategy('one'), opened(vaultA, 'one'), ...marksOf(vaultA, 1)],
    marksOf(vaultA, 100),
    marksOf(vaultA, 200),
  ]
  const texts = parts.map((facts) => feedText(facts))
  let standby: TestDatabase
  beforeEach(async () => {
    standby = await createDatabase()
    await writeFile(feed, texts[0] as string)
    await applyFile()
    await applyFile({ database: standby })
    await appendFile(feed, texts[1] as string)
    await applyFile()
    await appendFile(feed, texts[2] as string)
  })

  test('before the first batch', async () => {
    const source = await fileSource(feed, await stored())
    expect(await apply({ source, database: standby })).toEqual([10, 7, 0])
    await standby.close()
  })

  test('in the middle of a run', async () => {
    const source = inPieces(await fileSource(feed, await stored()), [(texts[0] as string).length])
    let transactions = 0
    const failing: Database = {
      ...database,
      transaction: (work) => (transactions++ === 0 ? database : standby).transaction(work),
    }
    expect(await apply({ source, database: failing })).toEqual([10, 7, 0])
    expect(await points(standby)).toBe(15)
    await standby.close()
  })

  test('except for those that could overtake facts that were lost', async () => {
    const opening = [strategy('two'), mark(vaultB, midnight + 1_000, '7'), opened(vaultB, 'one'), ...marksOf(vaultB, 1)]
    await appendFile(feed, feedText(opening))
    await applyFile()
    await applyFile({ database: standby })
    await appendFile(feed, feedText(marksOf(vaultB, 100)))
    await applyFile()
    await appendFile(feed, feedText(marksOf(vaultB, 200)))
    const batches = [texts.join('').length + feedText(opening.slice(0, 1)).length, feedText(opening.slice(1, 3)).length]
    const source = inPieces(await fileSource(feed, await stored()), batches)
    let transactions = 0
    const failing: Database = {
      ...database,
      transaction: (work) => (transactions++ === 0 ? database : standby).transaction(work),
    }
    expect(await apply({ source, database: failing })).toEqual([10, 24, 1])
    await standby.close()
  })
})

test('a line that another process has set aside meanwhile remains so, though its vault is opened by now', async () => {
  const before = [strategy('one'), early, opened(vaultA, 'one'), ...marksOf(vaultA, 1)]
  await writeFile(feed, feedText(before))
  const ending = new AbortController()
  const sources = [await followedSource(feed, null, ending.signal), await fileSource(feed, null)] as const
  expect(await apply({ source: sources[1] })).toEqual([7, 0, 1])
  const following = apply({ source: sources[0], signal: ending.signal })
  await appendFile(feed, feedText(marksOf(vaultA, 100)))
  await vi.waitFor(async () => expect(await points()).toBe(10), { timeout: 30_000 })
  ending.abort()
  expect(await following).toEqual([5, 7, 1])
})

test.each([
  ['has gone on behind the lines that were handled', true],
  ['has handled more lines than a batch', false],
])('a line that was set aside remains so where another process %s', async (_how, wasApplied) => {
  const known = [strategy('one'), opened(vaultB, 'one'), ...marksOf(vaultB, 1, 10)]
  const before = [...known, early, opened(vaultA, 'one'), ...marksOf(vaultA, 1)]
  await writeFile(feed, feedText(before))
  if (wasApplied) await applyFile()
  await appendFile(feed, feedText(marksOf(vaultA, 100)))
  const source = inPieces(await fileSource(feed, await stored()), [feedText(known).length, feedText([early]).length])
  let batches = 0
  const { database: slow, beforeNext } = withTransactionHook(database)
  expect(
    await apply({
      source,
      database: slow,
      onBatch: () => void (++batches === 1 && beforeNext(() => applyFile())),
    }),
  ).toEqual(wasApplied ? [0, 23, 1] : [12, 11, 1])
  expect(await points()).toBe(20)
})

test('no line of a file that is applied again is lost where another process begins a new file of its feed', async () => {
  const known = [strategy('one'), opened(vaultA, 'one')]
  await writeFile(feed, feedText([...known, opened(vaultB, 'two'), strategy('two'), ...marksOf(vaultA, 1)]))
  expect(await applyFile()).toEqual([8, 0, 1])
  const source = inPieces(await fileSource(feed, await stored()), [feedText(known).length])
  const { database: slow, beforeNext } = withTransactionHook(database)
  const next = path.join(path.dirname(feed), 'next.ndjson')
  await writeFile(next, feedText([strategy('next')]))
  const applyNext = async (): Promise<void> => {
    await apply({ source: { ...(await fileSource(next, await stored())), name: feed } })
  }
  const onReopen = vi.fn<() => void>()
  let batches = 0
  const counts = await apply({
    source,
    database: slow,
    onBatch: () => void (++batches === 1 && beforeNext(applyNext)),
    onReopen,
  })
  expect(onReopen).not.toHaveBeenCalled()
  expect(counts).toEqual([1, 8, 0])
})

describe('a followed file that is read again from its beginning does not apply lines that were set aside', () => {
  const lines = [strategy('one'), early, opened(vaultA, 'one'), ...marksOf(vaultA, 1)]
  const ending = new AbortController()
  afterAll(() => ending.abort())

  const onLateLines = vi.fn<() => void>()
  const nothing = (): void => undefined
  const unwatched = { onMissing: nothing, onFound: nothing, onOtherFile: nothing, onRotated: nothing, onLeft: nothing }
  const watcher: PathWatcher = { ...unwatched, onChangedInPlace: nothing, onGzipEnd: nothing, onLateLines }

  async function follow(position: Awaited<ReturnType<typeof stored>>): Promise<void> {
    const source = await followedSource(feed, position, ending.signal, watcher)
    void apply({ source, signal: ending.signal })
  }

  test('where its last line had no newline', async () => {
    await writeFile(feed, feedText(lines).trimEnd())
    await applyFile()
    await follow(await stored())
    await appendFile(feed, `\n${feedText(marksOf(vaultA, 100))}`)
    await vi.waitFor(async () => expect(await points()).toBe(10), { timeout: 30_000 })
  })

  test('where lines were added late to the file before it', async () => {
    await writeFile(feed, feedText([strategy('zero')]))
    await follow(null)
    await vi.waitFor(async () => expect(await stored()).not.toBeNull(), { timeout: 30_000 })
    await link(feed, `${feed}.1`)
    await writeFile(`${feed}.new`, feedText(lines))
    await rename(`${feed}.new`, feed)
    await vi.waitFor(async () => expect(await points()).toBe(5), { timeout: 30_000 })
    await appendFile(`${feed}.1`, feedText([strategy('late')]))
    await vi.waitFor(() => expect(onLateLines).toHaveBeenCalled(), { timeout: 30_000 })
    await appendFile(feed, feedText(marksOf(vaultA, 100)))
    await vi.waitFor(async () => expect(await points()).toBe(10), { timeout: 30_000 })
  })
})

test.each([
  ['shorter', 1],
  ['longer', 20],
])('after late lines of a %s file the position moves on to the next one, also for a restart', async (_how, count) => {
  const lines = [strategy('one'), early, opened(vaultA, 'one'), ...marksOf(vaultA, 1)]
  const follow = async (signal: AbortSignal): Promise<number[]> =>
    apply({ source: await followedSource(feed, await stored(), signal), signal })
  const [first, second] = [new AbortController(), new AbortController()]
  await writeFile(feed, feedText(Array.from({ length: count }, (_, at) => strategy(`early-${at}`))))
  const following = follow(first.signal)
  await vi.waitFor(async () => expect(await stored()).not.toBeNull(), { timeout: 30_000 })
  await link(feed, `${feed}.1`)
  await writeFile(`${feed}.new`, feedText(lines))
  await rename(`${feed}.new`, feed)
  await vi.waitFor(async () => expect(await points()).toBe(5), { timeout: 30_000 })
  await appendFile(`${feed}.1`, feedText([strategy('late')]))
  await vi.waitFor(async () => expect((await stored())?.line).toBe(count + 1), { timeout: 30_000 })
  await vi.waitFor(async () => expect(inText(await stored())?.byte).toBe(feedText(lines).length), { timeout: 30_000 })
  first.abort()
  await following
  await appendFile(feed, feedText(marksOf(vaultA, 100)))
  const restarted = follow(second.signal)
  await vi.waitFor(async () => expect(await points()).toBe(10), { timeout: 30_000 })
  second.abort()
  await restarted
})

test('a file that was changed in place while late lines of the one before it were read has no handled lines', async () => {
  const lines = (newest: number): string =>
    feedText([strategy('one'), opened(vaultA, 'one'), ...marksOf(vaultA, 1), mark(vaultA, midnight + newest, '9')])
  const ending = new AbortController()
  const ignore = (): void => undefined
  const watcher: PathWatcher = {
    onMissing: ignore,
    onFound: ignore,
    onOtherFile: ignore,
    onRotated: ignore,
    onLeft: ignore,
    onChangedInPlace: ignore,
    onGzipEnd: ignore,
    onLateLines: () => writeFileSync(feed, lines(20)),
  }
  await writeFile(feed, feedText([strategy('zero')]))
  const following = apply({ source: await followedSource(feed, null, ending.signal, watcher), signal: ending.signal })
  await vi.waitFor(async () => expect(await stored()).not.toBeNull(), { timeout: 30_000 })
  await link(feed, `${feed}.1`)
  await writeFile(`${feed}.new`, lines(10))
  await rename(`${feed}.new`, feed)
  await vi.waitFor(async () => expect(await points()).toBe(6), { timeout: 30_000 })
  await appendFile(`${feed}.1`, feedText([strategy('late')]))
  await vi.waitFor(async () => expect(await points()).toBe(7), { timeout: 30_000 })
  ending.abort()
  expect((await following)[2]).toBe(0)
})

/**
 * Returns a source that comes in pieces, each a batch.
 * @param sizes of the pieces before the last one, in bytes
 * @param isKilled leaves out the last one, as where the process is killed before it
 */
function inPieces(source: ByteSource, sizes: readonly number[], isKilled = false): ByteSource {
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (let chunk of source.chunks) {
      for (const size of sizes) {
        yield chunk.subarray(0, size)
        chunk = chunk.subarray(size)
      }
      if (!isKilled) yield chunk
    }
  }
  return { ...source, chunks: pieces() }
}
