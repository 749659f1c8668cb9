import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource, type Source } from '../../src/feed/reading/source.ts'
import type { SourceEnd } from '../../src/feed/read-until.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { empty, emptyDatabase } from '../support/database.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText } from '../support/feeds.ts'
import { eventually, followWithHook } from '../support/followed-run.ts'
import { deposit, feedOf, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

/** Facts that one feed has skipped because another one has applied them in a commit that a failover loses. */
const beginning = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')]
const ofOther = [mark(vaultA, midnight + 20, '101')]

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lost-known-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('skipped facts of another feed that are lost are applied, though the last skipped facts are not lost', async () => {
  const feed = path.join(folder, 'followed.ndjson')
  const { real, name, beforeNext, reopened, batches, stop } = await followWithHook(feed, beginning)
  await eventually(() => expect(batches()).toBe(1))
  await ingest({ database: real, source: feedOf(ofOther) })
  await appendFile(feed, feedText(ofOther))
  await eventually(() => expect(batches()).toBe(2))
  await appendFile(feed, feedText(beginning.slice(2)))
  await eventually(() => expect(batches()).toBe(3))
  beforeNext(async () => {
    await empty(real)
    await ingest({ database: real, source: { ...feedOf(beginning), name } })
  })
  await appendFile(feed, feedText([mark(vaultA, midnight + 30, '102')]))
  await eventually(async () => expect((await real.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('102'))
  await stop()
  expect(reopened).toEqual([beginning.length])
  expect(await real.prisma.equityPoint.count()).toBe(3)
})

const valid = [strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'two'), strategy('two')]

/**
 * Applies a feed that has handled lines already, and lets the database fall back to these once they have been read again.
 * @param cuts facts up to which the first chunks of its file are read, before one with the last fact
 * @param handled facts that are handled before; those of all these chunks unless given
 * @param ofOther facts that another feed applies before
 * @returns the lines of the positions at which it was reopened, and its counts
 */
async function fallBackAmongHandled(
  name: string,
  cuts: readonly FactInput[][],
  {
    handled = cuts.at(-1) ?? [],
    ofOther = [],
    last = [deposit(vaultA, midnight + 10, '100')],
    batches: batchesBefore = cuts.length,
  }: {
    handled?: readonly FactInput[]
    ofOther?: readonly FactInput[]
    last?: readonly FactInput[]
    batches?: number
  } = {},
) {
  const feed = path.join(folder, `${name}.ndjson`)
  const rejects = rejectsFile(`${feed}.rejects`)
  const real = await emptyDatabase()
  const applyHandled = async (): Promise<void> => {
    await ingest({ database: real, source: { ...feedOf(handled), name: feed }, rejects })
  }
  await writeFile(feed, feedText([...(cuts.at(-1) ?? []), ...last]))
  await applyHandled()
  await ingest({ database: real, source: feedOf(ofOther) })
  const { database, beforeNext } = withTransactionHook(real)
  const fallBack = async (): Promise<void> => {
    expect(await real.prisma.vault.count()).toBe(2)
    await empty(real)
    await applyHandled()
  }
  const reopened: (number | undefined)[] = []
  let batches = 0
  const bytes = cuts.map((facts) => feedText(facts).length)
  const summary = await ingest({
    database,
    source: await cutAt(feed, bytes, await readFeedPosition(real.prisma, feed)),
    rejects,
    onBatch: () => void (++batches === batchesBefore && beforeNext(fallBack)),
    onReopen: (stored) => void reopened.push(stored?.line),
  })
  expect(await real.prisma.vault.count()).toBe(2)
  expect(await real.prisma.ledgerRow.count()).toBe(last.filter(({ kind }) => kind === 'event').length)
  return { reopened, summary }
}

test('skipped facts of another feed that are lost are applied, though the position after them is not lost', async () => {
  const { reopened, summary } = await fallBackAmongHandled('again', [valid], { ofOther: [opened(vaultB, 'two')] })
  expect(reopened).toEqual([valid.length])
  // Each line is counted once.
  expect(summary).toEqual({ applied: { event: 1 }, skipped: { strategy: 2, vault: 2 }, rejected: {} })
})

test.each([
  ['up to the position', [valid]],
  ['before a batch of bad lines', [valid, [...valid, opened(vaultB, 'none')]]],
])('facts that are tried again, and lost then, are applied where they were applied %s', async (how, cuts) => {
  const { reopened } = await fallBackAmongHandled(how, cuts)
  expect(reopened).toEqual([cuts.at(-1)?.length])
})

test('facts that are tried again, and lost with lines after the position, are applied', async () => {
  const { reopened, summary } = await fallBackAmongHandled('with later lines', [valid, [...valid, strategy('three')]], {
    handled: valid,
  })
  expect(reopened).toEqual([valid.length])
  expect(summary).toEqual({
    applied: { strategy: 1, vault: 1, event: 1 },
    skipped: { strategy: 2, vault: 1 },
    rejected: {},
  })
})

test.each([
  ['before the last batch', 1],
  ['at its end', 2],
])(
  'facts that are tried again are applied where a failover sets the position back to the end of the file %s',
  async (how, batches) => {
    const { reopened } = await fallBackAmongHandled(how, [valid.slice(0, 3)], {
      handled: valid,
      last: [strategy('two')],
      batches,
    })
    expect(reopened).toEqual([valid.length])
  },
)

/** After three batches the last lines are known; after four the run itself has moved the position. */
test.each([3, 4])('a fact is not lost before the position of another run, after %i batches', async (batchesBefore) => {
  const feed = path.join(folder, `beyond-${batchesBefore}.ndjson`)
  const rejects = rejectsFile(`${feed}.rejects`)
  // Positions in the first 1,024 bytes are not known to be further on than others.
  const long = { ...strategy('one'), description: 'x'.repeat(1_024) }
  const lines = [long, ...valid.slice(1, 3), ...['three', 'four', 'five', 'six'].map((id) => strategy(id))]
  const real = await emptyDatabase()
  const applyByOthers = async (handled: number): Promise<void> => {
    await ingest({ database: real, source: { ...feedOf(lines.slice(0, handled)), name: feed }, rejects })
    if (handled > 1) await ingest({ database: real, source: feedOf(valid.slice(3)) })
  }
  await writeFile(feed, feedText(lines))
  await applyByOthers(1)
  const ends = [3, 4, 5, 6].map((end) => feedText(lines.slice(0, end)).length)
  const source = await cutAt(feed, ends, await readFeedPosition(real.prisma, feed))
  await applyByOthers(5)
  const { database, beforeNext } = withTransactionHook(real)
  const fallBack = async (): Promise<void> => {
    expect(await real.prisma.vault.count()).toBe(2)
    await empty(real)
    await applyByOthers(4)
  }
  const reopened: (number | undefined)[] = []
  let batches = 0
  const onBatch = (): void => void (++batches === batchesBefore && beforeNext(fallBack))
  await ingest({ database, source, rejects, onBatch, onReopen: (stored) => void reopened.push(stored?.line) })
  expect(reopened).toEqual([4])
  expect(await real.prisma.vault.count()).toBe(2)
})

test('the end of a source is recorded, though its last lines before the position were tried again', async () => {
  const feed = path.join(folder, 'end.ndjson')
  const rejects = rejectsFile(`${feed}.rejects`)
  await writeFile(feed, feedText([...valid, deposit(vaultA, midnight + 10, '100')]))
  const database = await emptyDatabase()
  await ingest({ database, source: { ...feedOf(valid), name: feed }, rejects })
  const whole = await fileSource(feed, await readFeedPosition(database.prisma, feed))
  let atEnd: (end: SourceEnd) => Promise<void> = () => Promise.resolve()
  let ended = Promise.resolve()
  const source: Source = {
    ...whole,
    chunks: firstBytes(whole.chunks, feedText(valid).length),
    onEnd: (end) => void (atEnd = end),
  }
  await ingest({
    database,
    source,
    rejects,
    nowSeconds: () => midnight + 1_000,
    onBatch: () => void (ended = atEnd({ lookedAtMilliseconds: performance.now() })),
  })
  await ended
  expect(await database.prisma.vault.count()).toBe(2)
  await expect
    .poll(async () => Number((await database.prisma.feed.findUnique({ where: { name: feed } }))?.readUntil))
    .toBeGreaterThan(0)
})

async function* firstBytes(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield chunk.subarray(0, bytes)
}

/** Opens a file whose first chunk is cut at these bytes. */
async function cutAt(
  file: string,
  bytes: readonly number[],
  stored: Awaited<ReturnType<typeof readFeedPosition>>,
): Promise<Source> {
  async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks)
      for (const [at, end] of [...bytes, chunk.length].entries()) yield chunk.subarray(bytes[at - 1] ?? 0, end)
  }
  const source = await fileSource(file, stored)
  return { ...source, chunks: inPieces(source.chunks) } satisfies Source
}
