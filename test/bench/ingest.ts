/**
 * Facts a second on each engine, beside plain multi-row inserts of the equity rows that the same facts give: the ratio
 * is how many of those take as long as one fact. Engines and feeds take turns over several rounds, so that what else
 * the machine does meets all of them alike, and the medians are printed. PostgreSQL is measured where TEST_DATABASE_URL
 * says where one is.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import type { FactInput } from '../../src/feed/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource, type Source } from '../../src/feed/source.ts'
import { createOnServer, empty, postgresUrl } from '../support/database.ts'
import { deposit, feedOf, mark, midnight, opened, position, strategy } from '../support/world.ts'

const rounds = 5
const vaults = 40
const marksEach = 250
const hour = 3_600
const insertRows = 1_000
const equityColumns = [
  'vault_address',
  'ts',
  'value_usd',
  'capital_in_usd',
  'capital_out_usd',
  'net_usd',
  'mark_digest',
]

interface Feed {
  readonly name: string
  open(): Promise<Source>
}

interface Measurement {
  readonly facts: number
  readonly seconds: number
  readonly rows: number
  readonly insertSeconds: number
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
  if (postgresUrl === undefined) console.log('PostgreSQL is left out: TEST_DATABASE_URL is not set')
  else
    databases.push(await openDatabase({ engine: 'postgresql', url: await createOnServer(postgresUrl), connections: 5 }))
  const feeds: Feed[] = [{ name: 'hourly marks', open: () => Promise.resolve(feedOf(hourlyMarks())) }]
  if (existsSync(polygon)) feeds.push({ name: 'polygon-weth-usdc', open: () => fileSource(polygon) })
  else console.log(`A feed is left out: there is no ${polygon}`)

  const cases = feeds.flatMap((feed) =>
    databases.map((database) => ({ feed, database, measured: [] as Measurement[] })),
  )
  for (let round = 0; round < rounds; round++) {
    for (const { feed, database, measured } of cases) measured.push(await measure(database, feed))
  }
  console.table(cases.map(({ feed, database, measured }) => tableRow(database.engine, feed.name, measured)))
  for (const database of databases) await database.close()
}

async function measure(database: Database, feed: Feed): Promise<Measurement> {
  await empty(database)
  const source = await feed.open()
  const begun = performance.now()
  const { applied, skipped, rejected } = await ingest({ database, source })
  const seconds = secondsSince(begun)
  if (Object.keys({ ...skipped, ...rejected }).length > 0) throw new Error(`Not all of ${feed.name} was applied`)
  const facts = Object.values(applied).reduce((sum, count) => sum + count, 0)
  return { facts, seconds, ...(await measureInserts(database)) }
}

/** Takes the equity rows out, and times how they go in again. */
async function measureInserts(database: Database): Promise<Pick<Measurement, 'rows' | 'insertSeconds'>> {
  const texts = equityColumns.map((column) => `${column}::text`).join(', ')
  const from = 'from equity_point order by ts, vault_address'
  const rows = await database.query<Record<string, string | null>>(
    { name: 'rows', text: `select ${texts} ${from}` },
    [],
  )
  await database.prisma.$executeRawUnsafe('truncate equity_point')
  const begun = performance.now()
  for (let at = 0; at < rows.length; at += insertRows) {
    const values = rows.slice(at, at + insertRows).map((row) => equityColumns.map((column) => row[column] ?? null))
    await database.query({ name: `insert_${values.length}`, text: insertText(values.length) }, values.flat())
  }
  return { rows: rows.length, insertSeconds: secondsSince(begun) }
}

function insertText(rows: number): string {
  const width = equityColumns.length
  const places = Array.from(
    { length: rows },
    (_, row) => `(${equityColumns.map((__, at) => `$${row * width + at + 1}`).join(', ')})`,
  )
  return `insert into equity_point (${equityColumns.join(', ')}) values ${places.join(', ')}`
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
  const insertsPerSecond = median(measured.map(({ rows, insertSeconds }) => rows / insertSeconds))
  const ratio = median(measured.map((one) => one.seconds / one.facts / (one.insertSeconds / one.rows)))
  return {
    engine,
    feed,
    facts,
    seconds: seconds.toFixed(2),
    'facts/s': Math.round(facts / seconds),
    'inserts/s': Math.round(insertsPerSecond),
    ratio: ratio.toFixed(1),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1_000
}
