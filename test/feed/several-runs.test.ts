import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { openPostgreSqlWriter } from '../../src/database/postgresql/writer.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import type { Summary } from '../../src/feed/summary.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { createWriter, type Writer } from '../../src/feed/jobs/writer.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { type ByteSource, fileSource } from '../../src/feed/reading/source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { createOnServer, empty, postgresUrl } from '../support/database.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { feedOf, strategy } from '../support/world.ts'

const facts = manyDemoFacts(3)
const text = feedText(facts)

describe.skipIf(postgresUrl === undefined)('runs of one feed beside each other', () => {
  let folder: string
  let databases: readonly Database[]
  let writers: readonly Writer[]
  let feed: string
  let whole: { dump: Dump; counts: Record<string, number> }
  const reopened = vi.fn<() => void>()

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'several-runs-'))
    const url = await createOnServer(postgresUrl ?? '')
    databases = await Promise.all([openPostgreSql(url, 5), openPostgreSql(url, 5), openPostgreSql(url, 5)])
    writers = Array.from({ length: 2 }, () => createWriter(openPostgreSqlWriter(url)))
    await migrate(databases[0] as Database)
    const { applied } = await ingest({ database: databases[0] as Database, source: feedOf(facts) })
    whole = { dump: await dumpReadModel(databases[0] as Database), counts: applied }
  })
  beforeEach(async () => {
    await empty(databases[0] as Database)
    feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
    await writeFile(feed, text)
    reopened.mockClear()
  })
  afterAll(async () => {
    await Promise.all([...databases, ...writers].map((each) => each.close()))
    await rm(folder, { recursive: true })
  })

  /** Applies a source in batches with a maximum number of bytes, over a connection pool of its own. */
  const run = (
    at: number,
    source: ByteSource,
    bytes: number,
    options: Partial<IngestOptions> = {},
  ): Promise<Summary> => {
    const database = pausing(databases[at] as Database)
    return ingest({ database, source: inPieces(source, bytes), onReopen: reopened, ...options })
  }

  const expectWhole = async (summaries: readonly Summary[]): Promise<void> => {
    expect(await dumpReadModel(databases[0] as Database)).toEqual(whole.dump)
    expect(sumOf(summaries.map(({ applied }) => applied))).toEqual(whole.counts)
    expect(sumOf(summaries.map(({ rejected }) => rejected))).toEqual({})
    expect(await readFeedPosition((databases[0] as Database).prisma, feed)).toMatchObject({
      line: facts.length,
      byte: text.length,
    })
    expect(reopened).not.toHaveBeenCalled()
  }

  test.each([
    ['of equal batches', [40_000, 40_000, 40_000]],
    ['of batches of other sizes', [20_000, 70_000, 300_000]],
    ['of which one goes ahead in few batches', [15_000, text.length, 30_000]],
  ])('apply each fact once, %s', async (_how, sizes) => {
    const running = sizes.map(async (bytes, at) => run(at, await fileSource(feed), bytes))
    await expectWhole(await Promise.all(running))
  })

  test('apply each fact once, where one has several writers', async () => {
    const alone = run(0, await fileSource(feed), 60_000)
    const jobs = run(1, await fileSource(feed), text.length / 3, { writers })
    // Commits of a failed round of several writers count as skipped in the other run, too.
    await expectWhole(await Promise.all([alone, jobs]))
  })

  test('set each bad line aside once, also those of the first batch', async () => {
    const lines = Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? 'bad' : JSON.stringify(strategy(`of ${at}`))))
    await writeFile(feed, lines.join('\n'))
    for (let round = 0; round < 5; round++) {
      await empty(databases[0] as Database)
      const file = `${feed}.${round}.rejects.ndjson`
      const options = async () => ({ source: await fileSource(feed), rejects: rejectsFile(file) })
      await Promise.all(databases.map(async (database) => ingest({ database, ...(await options()) })))
      const found = (await readFile(file, 'utf8')).trimEnd().split('\n')
      const numbers = found.map((line) => (JSON.parse(line) as { line: number }).line)
      expect(numbers).toEqual(lines.flatMap((line, at) => (line === 'bad' ? [at + 1] : [])))
    }
  })

  test('apply each fact once, where one follows the file while it grows', async () => {
    const middle = text.indexOf('\n', text.length / 2) + 1
    await writeFile(feed, text.slice(0, middle))
    const stopping = new AbortController()
    const following = run(0, await followedSource(feed, null, stopping.signal), 20_000, { signal: stopping.signal })
    const first = await run(1, await fileSource(feed), 50_000)
    await appendFile(feed, text.slice(middle))
    const second = await run(2, await fileSource(feed), 30_000)
    await vi.waitFor(
      async () => expect((await dumpReadModel(databases[0] as Database))['vault']).toEqual(whole.dump['vault']),
      { timeout: 30_000, interval: 100 },
    )
    // It is at the end when it has read the lines that others have applied.
    await wait(1_000)
    stopping.abort()
    await expectWhole([first, second, await following])
  })
})

/** Returns a database whose transactions begin after a random pause. */
function pausing(database: Database): Database {
  return {
    ...database,
    async transaction(work) {
      await wait(Math.random() * 20)
      return database.transaction(work)
    },
  }
}

/** Returns a source with a maximum number of bytes per chunk, each of which becomes a batch. */
function inPieces(source: ByteSource, bytes: number): ByteSource {
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (const chunk of source.chunks) {
      for (let from = 0; from < chunk.length; from += bytes) yield chunk.subarray(from, from + bytes)
    }
  }
  return { ...source, chunks: pieces() }
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const each of counts) for (const [kind, count] of Object.entries(each)) sum[kind] = (sum[kind] ?? 0) + count
  return sum
}
