/**
 * Measures facts per second on each engine, and compares the time with plain multi-row inserts of the resulting rows: of all
 * tables of vaults, and of equity points only. Each row is inserted in its final state, whereas several facts may have
 * changed it. Engines and feeds are interleaved over several rounds, and the medians are printed. PostgreSQL is measured
 * if TEST_DATABASE_URL is set.
 *   TEST_DATABASE_URL=postgres://... npm run bench:ingest
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { startWriterThreads } from '../../src/cli/writers/writer-threads.ts'
import type { Database, Value } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import type { Writer } from '../../src/feed/jobs/writer.ts'
import { fileSource, type Source } from '../../src/feed/reading/source.ts'
import { createOnServer, empty, postgresUrl } from '../support/database.ts'
import { deposit, feedOf, mark, midnight, opened, position, strategy } from '../support/world.ts'
import { median } from './median.ts'

const rounds = 5
/** Number of concurrent writers that are compared with one. */
const jobs = 4
const vaults = 40
/** Enough for several rounds of the writers (`src/feed/jobs/`), which overlap. */
const marksPerVault = 1_500
const hour = 3_600
/** Lines per chunk of the generated feed: as many as a chunk of a file has. */
const chunkLines = 5_400
const insertRows = 1_000
/** Tables that marks and flows write; referenced tables first. */
const tables = [
  ...['vault', 'vault_owner', 'benchmark_holding', 'position', 'vault_day', 'ledger_row', 'ledger_tally'],
  ...['equity_page', 'equity_point'],
]

/** A feed that is applied in each round. */
interface Feed {
  readonly name: string
  open(): Promise<Source>
}

interface Measurement {
  readonly facts: number
  /** Seconds of one writer. */
  readonly seconds: number
  /** Seconds of several writers; null on PGlite. */
  readonly jobsSeconds: number | null
  readonly rows: number
  /** Seconds of the plain inserts: of all rows, and of equity points only. */
  readonly insertSeconds: number
  readonly pointSeconds: number
}

const polygon = path.resolve(import.meta.dirname, '../../../shared/feeds/polygon-weth-usdc.ndjson.gz')
const folder = await mkdtemp(path.join(tmpdir(), 'bench-'))
try {
  await run()
} finally {
  await rm(folder, { recursive: true })
}

async function run(): Promise<void> {
  const databases = [await openDatabase({ engine: 'pglite', dataDir: path.join(folder, 'data') })]
  let writers: readonly Writer[] = []
  if (postgresUrl === undefined) console.log('PostgreSQL is skipped: TEST_DATABASE_URL is not set')
  else {
    const url = await createOnServer(postgresUrl)
    databases.push(await openDatabase({ engine: 'postgresql', url, connections: 5 }))
    writers = await startWriterThreads(await compiledWriterThread(), url, jobs)
  }
  const feeds: Feed[] = [{ name: 'hourly marks', open: () => Promise.resolve(feedOf(hourlyMarks(), chunkLines)) }]
  if (existsSync(polygon)) feeds.push({ name: 'polygon-weth-usdc', open: () => fileSource(polygon) })
  else console.log(`A feed is skipped: ${polygon} does not exist`)

  const cases = feeds.flatMap((feed) =>
    databases.map((database) => ({ feed, database, measurements: [] as Measurement[] })),
  )
  for (let round = 0; round < rounds; round++) {
    for (const { feed, database, measurements } of cases) {
      measurements.push(await measure(database, feed, database.engine === 'postgresql' ? writers : []))
    }
  }
  console.table(cases.map(({ feed, database, measurements }) => tableRow(database.engine, feed.name, measurements)))
  await Promise.all(writers.map((writer) => writer.close()))
  for (const database of databases) await database.close()
}

/** Compiles src/, and returns the program of a writer thread that `npm run ingest` uses. */
async function compiledWriterThread(): Promise<URL> {
  const file = pathToFileURL(path.resolve(import.meta.dirname, '../../src/compile.mjs'))
  const { compiled } = (await import(file.href)) as { compiled: () => Promise<string> }
  return new URL('writer-thread.js', pathToFileURL(await compiled()))
}

/** Applies a feed with several writers, if there are any, then with one, and measures plain inserts of its rows. */
async function measure(database: Database, feed: Feed, writers: readonly Writer[]): Promise<Measurement> {
  const jobsSeconds = writers.length === 0 ? null : (await ingestFeed(database, feed, writers)).seconds
  return { ...(await ingestFeed(database, feed, [])), jobsSeconds, ...(await measureInserts(database)) }
}

/**
 * Applies a feed to an empty database.
 * @throws {Error} if a fact is skipped or rejected
 */
async function ingestFeed(
  database: Database,
  feed: Feed,
  writers: readonly Writer[],
): Promise<Pick<Measurement, 'facts' | 'seconds'>> {
  await empty(database)
  const source = await feed.open()
  const begun = performance.now()
  const { applied, skipped, rejected } = await ingest({ database, source, writers })
  const seconds = secondsSince(begun)
  if (Object.keys({ ...skipped, ...rejected }).length > 0)
    throw new Error(`Facts of ${feed.name} were skipped or rejected`)
  const facts = Object.values(applied).reduce((sum, count) => sum + count, 0)
  return { facts, seconds }
}

/** Rows of a table, as values in the order of the columns. */
interface Rows {
  readonly table: string
  readonly columns: readonly string[]
  readonly values: readonly Value[][]
}

/** Reads all rows, truncates the tables, and measures how long it takes to insert the rows again. */
async function measureInserts(database: Database): Promise<Omit<Measurement, 'facts' | 'seconds' | 'jobsSeconds'>> {
  const all: Rows[] = []
  for (const table of tables) all.push(await readRows(database, table))
  await database.prisma.$executeRawUnsafe(`truncate ${tables.join(', ')} cascade`)
  let insertSeconds = 0
  let pointSeconds = 0
  for (const rows of all) {
    const begun = performance.now()
    await insert(database, rows)
    const seconds = secondsSince(begun)
    insertSeconds += seconds
    if (rows.table === 'equity_point') pointSeconds = seconds
  }
  return { rows: all.reduce((sum, { values }) => sum + values.length, 0), insertSeconds, pointSeconds }
}

async function readRows(database: Database, table: string): Promise<Rows> {
  const columnTypes = await database.query<{ name: string; type: string }>(
    {
      name: `columns_${table}`,
      text: `select column_name::text as name, data_type::text as type from information_schema.columns
        where table_schema = 'public' and table_name = '${table}' and is_generated = 'NEVER' order by ordinal_position`,
    },
    [],
  )
  const columns = columnTypes.map(({ name }) => name)
  const expressions = columnTypes.map(({ name, type }) => (type === 'boolean' ? name : `${name}::text`))
  const text = `select ${expressions.join(', ')} from ${table} ${table === 'equity_point' ? 'order by ts, vault_id' : ''}`
  const rows = await database.query<Record<string, Value>>({ name: `rows_${table}`, text }, [])
  return { table, columns, values: rows.map((row) => columns.map((column) => row[column] ?? null)) }
}

async function insert(database: Database, { table, columns, values }: Rows): Promise<void> {
  for (let at = 0; at < values.length; at += insertRows) {
    const batch = values.slice(at, at + insertRows)
    const text = insertText(table, columns, batch.length)
    await database.query({ name: `insert_${table}_${batch.length}`, text }, batch.flat())
  }
}

function insertText(table: string, columns: readonly string[], rows: number): string {
  const placeholders = Array.from(
    { length: rows },
    (_, row) => `(${columns.map((__, at) => `$${row * columns.length + at + 1}`).join(', ')})`,
  )
  return `insert into ${table} (${columns.join(', ')}) values ${placeholders.join(', ')}`
}

/** Returns hourly marks of all vaults, whose positions are partly out of range. */
function hourlyMarks(): FactInput[] {
  const addresses = Array.from({ length: vaults }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
  const hours = Array.from({ length: marksPerVault }, (_, index) => index + 1)
  return [
    strategy('one'),
    strategy('two'),
    ...addresses.map((address, index) => opened(address, index % 2 === 0 ? 'one' : 'two')),
    ...addresses.map((address) => deposit(address, midnight + 10, '1000')),
    ...hours.flatMap((at) =>
      addresses.map((address, index) =>
        mark(address, midnight + at * hour, (1_000 + at + index / 8).toString(), {
          positions: [position('one', '100'), position('two', (90 + ((at + index) % 25)).toString())],
        }),
      ),
    ),
  ]
}

function tableRow(engine: string, feed: string, measurements: readonly Measurement[]) {
  const facts = measurements[0]?.facts ?? 0
  const seconds = median(measurements.map((one) => one.seconds))
  const medianOf = (field: (one: Measurement) => number): string => median(measurements.map(field)).toFixed(2)
  const jobsRatios = measurements.flatMap((one) => (one.jobsSeconds === null ? [] : [one.seconds / one.jobsSeconds]))
  return {
    engine,
    feed,
    facts,
    rows: measurements[0]?.rows ?? 0,
    seconds: seconds.toFixed(2),
    'facts/s': Math.round(facts / seconds),
    'speed relative to inserts of all rows': medianOf((one) => one.insertSeconds / one.seconds),
    'of points only': medianOf((one) => one.pointSeconds / one.seconds),
    [`speed of ${jobs} writers relative to 1`]:
      jobsRatios.length === 0 ? 'one writer only' : median(jobsRatios).toFixed(2),
  }
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1_000
}
