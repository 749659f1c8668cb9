import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ingestCommand } from '../../src/cli/commands/ingest.ts'
import type { Database } from '../../src/database/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { openPostgreSqlWriter } from '../../src/database/postgresql/writer.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { createWriter, type Writer } from '../../src/feed/jobs/writer.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { createOnServer, empty, emptyDatabase, postgresUrl } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { deposit, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

const day = 86_400
/** Set aside, because its vault is opened later, and newer than all other facts of its vault. */
const early = mark(vaultA, midnight + day, '7')
const marksOf = (vault: string, from: number): FactInput[] =>
  Array.from({ length: 300 }, (_, at) => mark(vault, midnight + from + at, String(at + 1)))
const broken = '{"kind":"not yet repaired"}'
const before = [
  strategy('one'),
  early,
  broken,
  opened(vaultA, 'one'),
  opened(vaultB, 'one'),
  ...marksOf(vaultA, 1),
  ...marksOf(vaultB, 1),
]
const after = [deposit(vaultA, midnight + 1_000, '10', '300'), ...marksOf(vaultA, 2_000), ...marksOf(vaultB, 2_000)]
const textOf = (lines: readonly (FactInput | string)[]): string =>
  lines.map((line) => (typeof line === 'string' ? `${line}\n` : feedText([line]))).join('')
const facts = before.length + after.length - 2

describe.each([
  ['one writer', 0],
  ['two writers', 2],
] as const)('an ingest of a file by %s, after one that was stopped', (_name, jobs) => {
  const isLeftOut = jobs > 0 && postgresUrl === undefined
  let folder: string
  let database: Database
  let feed: string
  let writers: readonly Writer[] = []

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'ingest-again-'))
    if (jobs === 0 || postgresUrl === undefined) return
    const url = await createOnServer(postgresUrl)
    database = await openPostgreSql(url, 5)
    await migrate(database)
    writers = Array.from({ length: jobs }, () => createWriter(openPostgreSqlWriter(url)))
  })
  beforeEach(async () => {
    if (jobs === 0) database = await emptyDatabase()
    else if (!isLeftOut) await empty(database)
    feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
  })
  afterAll(async () => {
    await Promise.all(writers.map((writer) => writer.close()))
    if (jobs > 0 && !isLeftOut) await database.close()
    await rm(folder, { recursive: true })
  })

  /** Applies the file up to the end of `before`, as a run that is killed after the commit of that batch. */
  async function applyFirstPart(): Promise<void> {
    const source = await fileSource(feed)
    const text = await readFile(feed)
    const whole = feed.endsWith('.gz') ? gunzipSync(text) : text
    async function* chunks(): AsyncGenerator<Buffer> {
      yield await Promise.resolve(whole.subarray(0, Buffer.byteLength(textOf(before))))
    }
    await ingest({
      database,
      source: { ...source, chunks: chunks() },
      writers,
      rejects: rejectsFile(`${feed}.rejects.ndjson`),
    })
  }

  /** Runs the command, and returns its status and the numbers of applied, skipped and rejected lines. */
  async function applyByCommand(skipBad = true): Promise<readonly [number, ...number[]]> {
    const output = Object.assign(new PassThrough(), { isTTY: false })
    const status = await ingestCommand({
      database,
      feed,
      skipBad,
      input: Readable.from([]),
      output: output as unknown as NodeJS.WriteStream,
      signal: new AbortController().signal,
      nowSeconds: () => midnight + 2 * day,
      startWriters: async () => Promise.resolve(writers.map((each) => ({ ...each, close: () => Promise.resolve() }))),
    })
    const counts = String(output.read()).matchAll(/^(?:applied|skipped|rejected) +(\d+)/gm)
    return [status, ...Array.from(counts, ([, count]) => Number(count))]
  }

  test.skipIf(isLeftOut).each([
    ['plain', 'feed.ndjson', (text: string) => text],
    ['gzipped', 'feed.ndjson.gz', (text: string) => gzipSync(text)],
    ['without a last newline', 'feed.ndjson', (text: string) => text.trimEnd()],
    ['with blank lines', 'feed.ndjson', (text: string) => `${text}\n \n`],
  ])('leaves what one run leaves, where the file is %s', async (_how, name, encode) => {
    feed = path.join(path.dirname(feed), name)
    await writeFile(feed, encode(textOf([...before, ...after])))
    expect(await applyByCommand()).toEqual([1, facts, 0, 2])
    const whole = await dumpReadModel(database)
    const rejects = await readFile(`${feed}.rejects.ndjson`, 'utf8')
    await empty(database)
    await rm(`${feed}.rejects.ndjson`)
    await applyFirstPart()
    expect(await applyByCommand()).toEqual([1, after.length, before.length - 2, 2])
    expect(await dumpReadModel(database)).toEqual(whole)
    expect(await readFile(`${feed}.rejects.ndjson`, 'utf8')).toBe(rejects)
  })

  test.skipIf(isLeftOut)('has the same result as one run, where lines were added to the file', async () => {
    await writeFile(feed, textOf([...before, ...after]))
    await applyByCommand()
    const whole = await dumpReadModel(database)
    await empty(database)
    await writeFile(feed, textOf(before))
    expect(await applyByCommand()).toEqual([1, before.length - 2, 0, 2])
    await appendFile(feed, textOf(after))
    expect(await applyByCommand()).toEqual([1, after.length, before.length - 2, 2])
    expect(await dumpReadModel(database)).toEqual(whole)
  })

  test.skipIf(isLeftOut)('retries lines that were set aside, once all lines are handled', async () => {
    await writeFile(feed, textOf([...before, ...after]))
    await applyFirstPart()
    expect(await applyByCommand()).toEqual([1, after.length, before.length - 2, 2])
    expect(await applyByCommand()).toEqual([1, 1, facts, 1])
    expect(await applyByCommand()).toEqual([1, 0, facts + 1, 1])
  })

  test.skipIf(isLeftOut)('reads a file by the usual rules where a line was repaired', async () => {
    await writeFile(feed, textOf([...before, ...after]))
    await applyFirstPart()
    const repaired = before.map((line) => (line === broken ? strategy('repaired') : line))
    await writeFile(feed, textOf([...repaired.filter((line) => line !== early), ...after]))
    expect(await applyByCommand()).toEqual([0, after.length + 1, before.length - 2, 0])
  })

  test.skipIf(isLeftOut)('stops at a line that was set aside, without --skip-bad', async () => {
    await writeFile(feed, textOf([...before, ...after]))
    await applyFirstPart()
    await expect(applyByCommand(false)).rejects.toThrow(
      `${feed}, line 2: was set aside by an earlier run, and is tried again once all lines of the feed are handled`,
    )
  })

  test.skipIf(isLeftOut)(
    'does not wait for a clock that is wrong meanwhile, with a line that was set aside',
    async () => {
      const handled = [strategy('one'), opened(vaultA, 'one'), mark(vaultA, midnight + 10 * day, '1')]
      const [late, early] = [midnight, midnight - 10 * day]
      const rejects = rejectsFile(`${feed}.rejects.ndjson`)
      await writeFile(feed, textOf(handled))
      const first = await ingest({ database, source: await fileSource(feed), rejects, nowSeconds: () => late })
      expect(first.rejected).toEqual({ mark: 1 })
      await appendFile(feed, textOf([strategy('two', midnight - 20 * day)]))
      const source = await fileSource(feed, await readFeedPosition(database.prisma, feed))
      const { applied, rejected } = await ingest({ database, source, rejects, nowSeconds: () => early })
      expect([applied, rejected]).toEqual([{ strategy: 1 }, { mark: 1 }])
    },
  )
})
