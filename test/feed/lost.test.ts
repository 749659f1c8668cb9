import { writeFileSync } from 'node:fs'
import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { UnrepeatableFeed } from '../../src/feed/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { fileSource, type Source } from '../../src/feed/reading/source.ts'
import { empty, emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { eventually, followWithHook } from '../support/followed-run.ts'
import { deposit, feedOf, mark, midnight, opened, strategy, vaultA } from '../support/world.ts'

const beginning = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')]
const demo = manyDemoFacts(8)
const lines = demo.map((fact) => JSON.stringify(fact))
// A bad line in each batch.
const text = lines.flatMap((line, at) => (at % 900 === 800 ? ['{"kind":"trade"}', line] : [line])).join('\n') + '\n'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lost-'))
  await writeFile(path.join(folder, 'plain.ndjson'), text)
  await writeFile(path.join(folder, 'packed.ndjson.gz'), gzipSync(text))
})
afterAll(() => rm(folder, { recursive: true }))

/** Returns a database that loses a reported commit, like a failover to a lagging replica. */
function losing(database: Database, lost: number): Database {
  let count = 0
  const rollback = new Error('lost')
  return {
    ...database,
    async transaction<Result>(work: Parameters<typeof database.transaction<Result>>[0]): Promise<Result> {
      if (count++ !== lost) return database.transaction(work)
      const results: Result[] = []
      await database
        .transaction(async (transaction) => {
          results.push(await work(transaction))
          throw rollback
        })
        .catch((error: unknown) => {
          if (error !== rollback) throw error
        })
      return results[0] as Result
    },
  }
}

async function applied(source: Source, lost: number) {
  const database = await emptyDatabase()
  const rejects = rejectsFile(path.join(folder, `${Math.random()}.rejects`))
  const reopened: unknown[] = []
  const onReopen = (stored: unknown): void => void reopened.push(stored)
  const summary = await ingest({ database: losing(database, lost), source, rejects, onReopen })
  return {
    outcome: { summary, rejects: await readFile(rejects.file, 'utf8'), dump: await dumpReadModel(database) },
    reopened: reopened.length,
  }
}

test.each(['plain.ndjson', 'packed.ndjson.gz'])(
  'what was lost of %s is applied again, and counted once',
  async (name) => {
    const whole = await applied(await fileSource(path.join(folder, name)), -1)
    expect(whole.reopened).toBe(0)
    for (const lost of [0, 1]) {
      const found = await applied(await fileSource(path.join(folder, name)), lost)
      expect(found.reopened).toBe(1)
      expect(found.outcome).toEqual(whole.outcome)
    }
  },
)

/** Opens a file whose only chunk is cut in two. */
async function cutAt(file: string, byte: number): Promise<Source> {
  async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) yield* [chunk.subarray(0, byte), chunk.subarray(byte)]
  }
  const source = await fileSource(file)
  return { ...source, chunks: inPieces(source.chunks) }
}

test('lost facts after a batch of bad lines are applied again, and counted once', async () => {
  const bad = '{"kind":"trade"}\n'.repeat(2)
  const file = path.join(folder, 'bad-first.ndjson')
  await writeFile(file, bad + lines.slice(0, 5).join('\n'))
  const whole = await applied(await cutAt(file, bad.length), -1)
  const found = await applied(await cutAt(file, bad.length), 1)
  expect([whole.reopened, found.reopened]).toEqual([0, 1])
  expect(found.outcome).toEqual(whole.outcome)
})

test('a line that was set aside before the lost facts remains so, where a gzipped file is read again', async () => {
  const file = path.join(folder, 'early.ndjson.gz')
  const first = feedText([strategy('one'), mark(vaultA, midnight + 100, '1'), opened(vaultA, 'one')])
  await writeFile(file, gzipSync(first + feedText([deposit(vaultA, midnight + 10, '100')])))
  const whole = await applied(await cutAt(file, first.length), -1)
  const found = await applied(await cutAt(file, first.length), 1)
  expect([whole.reopened, found.reopened]).toEqual([0, 1])
  expect(whole.outcome.summary.rejected).toEqual({ mark: 1 })
  expect(found.outcome).toEqual(whole.outcome)
})

test('bad lines that a change in place before a failover has added are set aside and counted', async () => {
  const [known, bad] = ['{"kind":"trade"}\n', '{"kind":"track"}\n']
  const file = path.join(folder, 'mended.ndjson')
  await writeFile(file, known + feedText(beginning))
  const real = await emptyDatabase()
  const source = await fileSource(file)
  async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) yield* [chunk.subarray(0, -100), chunk.subarray(-100)]
  }
  const rejects = rejectsFile(path.join(folder, 'mended.rejects'))
  const { rejected } = await ingest({
    database: losing(real, 1),
    source: { ...source, chunks: inPieces(source.chunks) },
    rejects,
    onReopen: () => writeFileSync(file, bad + feedText(beginning)),
  })
  expect(rejected).toEqual({ unreadable: 2 })
  const lines = (await readFile(rejects.file, 'utf8')).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(
    [known, bad].map((one) => one.trim()),
  )
})

test('a feed that cannot be read again ends with the reason, and applies nothing after the gap', async () => {
  const database = await emptyDatabase()
  const running = ingest({ database: losing(database, 1), source: feedOf(demo, 1_000) })
  await expect(running).rejects.toBeInstanceOf(UnrepeatableFeed)
  expect((await database.prisma.feed.findFirst())?.line).toBe(1_000n)
  expect((await ingest({ database, source: feedOf(demo) })).skipped).not.toEqual({})
  const completed = await dumpReadModel(database)
  const whole = await emptyDatabase()
  await ingest({ database: whole, source: feedOf(demo) })
  expect(completed).toEqual(await dumpReadModel(whole))
})

const appended = [mark(vaultA, midnight + 20, '101')]
const ofNext = [mark(vaultA, midnight + 30, '102')]

test.each([
  // Where nothing of the feed remains, there is no position to count from: its lines count again.
  ['the first batch', 0, { strategy: 2, vault: 2, event: 2, mark: 1 }],
  ['the last batch', 1, { strategy: 1, vault: 1, event: 1, mark: 2 }],
])('%s of a file that another one replaced is applied again from that file', async (_what, lost, counted) => {
  const [feed, stopping] = [path.join(folder, `rotated-${lost}.ndjson`), new AbortController()]
  await writeFile(feed, feedText(beginning))
  const database = await emptyDatabase()
  const reopened: (number | undefined)[] = []
  let [files, batches] = [1, 0]
  const running = ingest({
    database: losing(database, lost),
    source: await followedSource(feed, null, stopping.signal),
    signal: stopping.signal,
    onBatch: () => void batches++,
    onNextFile: () => void files++,
    onReopen: (stored) => void reopened.push(stored?.line),
  })
  await eventually(() => expect(batches).toBe(1))
  if (lost === 1) {
    await appendFile(feed, feedText(appended))
    await eventually(() => expect(batches).toBe(2))
  }
  await rename(feed, `${feed}.1`)
  await writeFile(feed, feedText(ofNext))
  await vi.waitFor(async () => expect((await database.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('102'), {
    timeout: 30_000,
  })
  stopping.abort()
  const { applied, skipped } = await running
  expect([applied, skipped]).toEqual([counted, {}])
  expect([files, reopened]).toEqual([3, lost === 1 ? [beginning.length] : [undefined]])
  expect((await database.prisma.feed.findFirst())?.line).toBe(1n)
})

const withChain = { ...opened(vaultA, 'one'), chainId: 10 }

test.each([
  ['nothing new', beginning.slice(2)],
  ['the chain of a known vault', [withChain]],
])('two commits that are lost are noticed, though the second one brought %s', async (brought, second) => {
  const feed = path.join(folder, `two-commits-${brought}.ndjson`)
  const { real, name, beforeNext, reopened, batches, stop } = await followWithHook(feed, beginning)
  await eventually(() => expect(batches()).toBe(1))
  await appendFile(feed, feedText(appended))
  await eventually(() => expect(batches()).toBe(2))
  await appendFile(feed, feedText(second))
  await eventually(() => expect(batches()).toBe(3))
  beforeNext(async () => {
    await empty(real)
    await ingest({ database: real, source: { ...feedOf(beginning), name } })
  })
  await appendFile(feed, feedText(ofNext))
  await eventually(async () => expect((await real.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('102'))
  await stop()
  expect(reopened).toEqual([beginning.length])
  expect(await real.prisma.equityPoint.count()).toBe(3)
  expect((await real.prisma.vault.findFirst())?.chainId).toBe(second.includes(withChain) ? 10n : null)
})

test('the last commit before an ingest returns is applied again where it is lost', async () => {
  const feed = path.join(folder, 'last-of-ingest.ndjson')
  await writeFile(feed, feedText([...beginning, ...appended]))
  const database = await emptyDatabase()
  const reopened: unknown[] = []
  const onReopen = (stored: unknown): void => void reopened.push(stored)
  await ingest({ database: losing(database, 0), source: await fileSource(feed), onReopen })
  expect(reopened).toEqual([null])
  expect((await database.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('101')
  const once = ingest({ database: losing(await emptyDatabase(), 0), source: feedOf(beginning) })
  await expect(once).rejects.toBeInstanceOf(UnrepeatableFeed)
})

test('the last commit of a followed feed without new lines is applied again where it is lost', async () => {
  const [feed, stopping] = [path.join(folder, 'quiet.ndjson'), new AbortController()]
  await writeFile(feed, feedText(beginning))
  const database = await emptyDatabase()
  const reopened: unknown[] = []
  const running = ingest({
    database: losing(database, 0),
    source: await followedSource(feed, null, stopping.signal),
    signal: stopping.signal,
    nowSeconds: () => midnight + 1_000,
    onReopen: (stored) => void reopened.push(stored),
  })
  await eventually(async () => expect((await database.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('100'))
  stopping.abort()
  await running
  expect(reopened).toEqual([null])
})

test('lost lines are not read from a later position of an earlier reading of the file', async () => {
  const feed = path.join(folder, 'read-again.ndjson')
  const last = mark(vaultA, midnight + 40, '103')
  await writeFile(feed, feedText([...beginning, last]))
  const real = await emptyDatabase()
  const { database, beforeNext } = withTransactionHook(real)
  const name = path.resolve(feed)
  const all = feedText([...beginning, last])
  // The same last line at the same offset, with a changed line before it.
  const between = [mark(vaultA, midnight + 50, '104'), mark(vaultA, midnight + 60, '105')]
  const source = await fileSource(feed)
  await ingest({ database: real, source })
  const text = feedText(beginning) + feedText(between) + feedText([last])
  await writeFile(feed, text)
  expect(text.length).toBeGreaterThan(all.length)
  const stored = { line: 6n, byte: BigInt(text.length) }
  await real.prisma.feed.update({ where: { name }, data: stored })
  const whole = await fileSource(feed)
  const lines = text.split(/(?<=\n)/).map((line) => Buffer.from(line))
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.concat(lines.slice(0, 4))
    await Promise.resolve()
    for (const line of lines.slice(4)) yield line
  }
  let batches = 0
  const onBatch = (): void => {
    if (++batches !== 1) return
    beforeNext(async () => {
      await empty(real)
      await ingest({ database: real, source: { ...feedOf([...beginning, last]), name } })
      await real.prisma.feed.update({ where: { name }, data: stored })
    })
  }
  const reopened: unknown[] = []
  await ingest({ database, source: { ...whole, chunks: chunks() }, onBatch, onReopen: () => void reopened.push(1) })
  expect(reopened).toHaveLength(1)
  expect(await real.prisma.equityPoint.count()).toBe(4)
})

test('a lost commit is detected, though the batches around it have one position', async () => {
  const marks = Array.from({ length: 4 }, (_, at) => mark(vaultA, midnight + 20 + at, `10${at}`))
  const lists = [beginning, ...marks.map((one) => [one])]
  const position = { line: 0, byte: 7, fingerprint: 'a second with many facts' }
  // As a chain's position is the same for all facts of a second.
  const open = (): Source => ({
    name: 'coarse',
    start: { line: 0 },
    positionAfter: () => position,
    facts: (async function* () {
      await Promise.resolve()
      yield* lists
    })(),
    reopen: () => Promise.resolve(open()),
  })
  for (const lost of [0, 1, 2, 3]) {
    const database = await emptyDatabase()
    const reopened: unknown[] = []
    const onReopen = (stored: unknown): void => void reopened.push(stored)
    await ingest({ database: losing(database, lost), source: open(), onReopen })
    expect(reopened).toEqual([lost === 0 ? null : { ...position, readUntil: null }])
    expect(await database.prisma.equityPoint.count()).toBe(5)
  }
})

test('a file that copies of itself have replaced is read again from its beginning where all of it is lost', async () => {
  const feed = path.join(folder, 'copied.ndjson')
  const facts = [strategy('one'), strategy('two'), strategy('three'), strategy('four')]
  const { real, beforeNext, reopened, batches, stop } = await followWithHook(feed, facts.slice(0, 1))
  await eventually(() => expect(batches()).toBe(1))
  for (const count of [2, 3, 4]) {
    if (count === facts.length) beforeNext(() => empty(real))
    await writeFile(`${feed}.new`, feedText(facts.slice(0, count)))
    await rename(`${feed}.new`, feed)
    if (count < facts.length) await eventually(async () => expect(await real.prisma.strategy.count()).toBe(count))
  }
  await eventually(() => expect(reopened).toEqual([undefined]))
  await eventually(async () => expect(await real.prisma.strategy.count()).toBe(facts.length))
  await stop()
})
