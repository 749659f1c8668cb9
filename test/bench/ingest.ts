/**
 * Facts a second on each engine, beside plain multi-row inserts of the rows that the same facts leave: of all that are
 * the vaults', and of their equity points alone, of which a mark leaves one. What a fact changed and a later one changed
 * again is inserted once. Engines and feeds take turns over several rounds, so that what else the machine does meets all
 * of them alike, and the medians are printed. PostgreSQL is measured where TEST_DATABASE_URL says where one is.
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

const rounds = 5
/** Writers that are compared with one. */
const jobs = 4
const vaults = 40
/** As many as make several rounds of the writers, which overlap. */
const marksEach = 1_500
const hour = 3_600
/** Lines of hourly marks in a chunk of a file that is read to its end. */
const chunkLines = 5_400
const insertRows = 1_000
/** Tables that marks and flows write, parents first. */
const tables = [
  ...['vault', 'vault_owner', 'benchmark_holding', 'position', 'vault_day', 'ledger_row', 'ledger_tally'],
  ...['equity_page', 'equity_point'],
]

interface Feed {
  readonly name: string
  open(): Promise<Source>
}

interface Measurement {
  readonly facts: number
  readonly seconds: number
  /** Of several writers; null where there are none. */
  readonly jobsSeconds: number | null
  readonly rows: number
  /** Of all rows, and of the equity points alone. */
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
  if (postgresUrl === undefined) console.log('PostgreSQL is left out: TEST_DATABASE_URL is not set')
  else {
    const url = await createOnServer(postgresUrl)
    databases.push(await openDatabase({ engine: 'postgresql', url, connections: 5 }))
    writers = await startWriterThreads(await compiledThread(), url, jobs)
  }
  const feeds: Feed[] = [{ name: 'hourly marks', open: () => Promise.resolve(feedOf(hourlyMarks(), chunkLines)) }]
  if (existsSync(polygon)) feeds.push({ name: 'polygon-weth-usdc', open: () => fileSource(polygon) })
  else console.log(`A feed is left out: there is no ${polygon}`)

  const cases = feeds.flatMap((feed) =>
    databases.map((database) => ({ feed, database, measured: [] as Measurement[] })),
  )
  for (let round = 0; round < rounds; round++) {
    for (const { feed, database, measured } of cases) {
      measured.push(await measure(database, feed, database.engine === 'postgresql' ? writers : []))
    }
  }
  console.table(cases.map(({ feed, database, measured }) => tableRow(database.engine, feed.name, measured)))
  await Promise.all(writers.map((writer) => writer.close()))
  for (const database of databases) await database.close()
}

/** Returns the writer's thread as `npm run ingest` runs it. */
async function compiledThread(): Promise<URL> {
  const file = pathToFileURL(path.resolve(import.meta.dirname, '../../src/compile.mjs'))
  const { compiled } = (await import(file.href)) as { compiled: () => Promise<string> }
  return new URL('writer-thread.js', pathToFileURL(await compiled()))
}

async function measure(database: Database, feed: Feed, writers: readonly Writer[]): Promise<Measurement> {
  const jobsSeconds = writers.length === 0 ? null : (await ingested(database, feed, writers)).seconds
  return { ...(await ingested(database, feed, [])), jobsSeconds, ...(await measureInserts(database)) }
}

async function ingested(
  database: Database,
  feed: Feed,
  writers: readonly Writer[],
): Promise<Pick<Measurement, 'facts' | 'seconds'>> {
  await empty(database)
  const source = await feed.open()
  const begun = performance.now()
  const { applied, skipped, rejected } = await ingest({ database, source, writers })
  const seconds = secondsSince(begun)
  if (Object.keys({ ...skipped, ...rejected }).length > 0) throw new Error(`Not all of ${feed.name} was applied`)
  const facts = Object.values(applied).reduce((sum, count) => sum + count, 0)
  return { facts, seconds }
}

interface Rows {
  readonly table: string
  readonly columns: readonly string[]
  readonly values: readonly Value[][]
}

/** Takes the rows out, and times how they go in again. */
async function measureInserts(database: Database): Promise<Omit<Measurement, 'facts' | 'seconds' | 'jobsSeconds'>> {
  const all: Rows[] = []
  for (const table of tables) all.push(await rowsOf(database, table))
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

async function rowsOf(database: Database, table: string): Promise<Rows> {
  const stored = await database.query<{ name: string; type: string }>(
    {
      name: `columns_${table}`,
      text: `select column_name::text as name, data_type::text as type from information_schema.columns
        where table_schema = 'public' and table_name = '${table}' and is_generated = 'NEVER' order by ordinal_position`,
    },
    [],
  )
  const columns = stored.map(({ name }) => name)
  const given = stored.map(({ name, type }) => (type === 'boolean' ? name : `${name}::text`))
  const text = `select ${given.join(', ')} from ${table} ${table === 'equity_point' ? 'order by ts, vault_id' : ''}`
  const rows = await database.query<Record<string, Value>>({ name: `rows_${table}`, text }, [])
  return { table, columns, values: rows.map((row) => columns.map((column) => row[column] ?? null)) }
}

async function insert(database: Database, { table, columns, values }: Rows): Promise<void> {
  for (let at = 0; at < values.length; at += insertRows) {
    const some = values.slice(at, at + insertRows)
    const text = insertText(table, columns, some.length)
    await database.query({ name: `insert_${table}_${some.length}`, text }, some.flat())
  }
}

function insertText(table: string, columns: readonly string[], rows: number): string {
  const places = Array.from(
    { length: rows },
    (_, row) => `(${columns.map((__, at) => `$${row * columns.length + at + 1}`).join(', ')})`,
  )
  return `insert into ${table} (${columns.join(', ')}) values ${places.join(', ')}`
}

/** Vaults that are marked at each hour, in range and out. */
function hourlyMarks(): FactInput[] {
  const addresses = Array.from({ length: vaults }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
  const hours = Array.from({ length: marksEach }, (_, index) => index + 1)
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

function tableRow(engine: string, feed: string, measured: readonly Measurement[]) {
  const facts = measured[0]?.facts ?? 0
  const seconds = median(measured.map((one) => one.seconds))
  const share = (of: (one: Measurement) => number): string => median(measured.map(of)).toFixed(2)
  return {
    engine,
    feed,
    facts,
    rows: measured[0]?.rows ?? 0,
    seconds: seconds.toFixed(2),
    'facts/s': Math.round(facts / seconds),
    'of all rows': share((one) => one.insertSeconds / one.seconds),
    'of the points': share((one) => one.pointSeconds / one.seconds),
    [`${jobs} jobs of 1`]: share((one) => (one.jobsSeconds === null ? NaN : one.seconds / one.jobsSeconds)),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1_000
}
