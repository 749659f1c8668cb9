/**
 * Compares worlds of two sizes on each engine: bytes per row, times of lists and of counts, and memory of the gateway and of
 * the ingester.
 *   BENCH_DATABASE_URL=postgres://... npm run bench:scale [-- --vaults 2000,100000 --pglite-vaults 200,5000 ...]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { runScript } from '../support/database.ts'
import { bytesPerRow, bytesTable, measureBytes, type TableBytes } from './scale/bytes.ts'
import { largestGrowth, timeLedgerCounts, timePages, type Times, timeVaultCounts } from './scale/lists.ts'
import { measureGatewayMegabytes, measureIngesterMegabytes } from './scale/memory.ts'
import { dropPostgreSql, preparePGlite, preparePostgreSql } from './speed/prepare.ts'
import { fillLedgerTallies, lengthenLedger, vaultAddress, worldEnd, type WorldSize } from './speed/world.ts'

const { values } = parseArgs({
  options: {
    vaults: { type: 'string', default: '2000,100000' },
    'pglite-vaults': { type: 'string', default: '200,5000' },
    points: { type: 'string', default: '60' },
    'long-points': { type: 'string', default: '20000' },
    'ledger-rows': { type: 'string', default: '20' },
    /** Number of rows in the ledger of one vault, whose totalCount is timed. */
    'long-ledger': { type: 'string', default: '1000,1000000' },
    marks: { type: 'string', default: '20000' },
  },
})

/** Measurements of one world. */
interface Measurement {
  readonly vaults: number
  readonly bytes: readonly TableBytes[]
  readonly pages: Times
  readonly vaultCounts: Times
  readonly ledgerCounts: Times
  readonly gatewayMegabytes: number
  readonly ingesterMegabytes: number
}

/** Parses two sizes with a comma between them. */
const parseSizes = (text: string): [number, number] => {
  const [small = NaN, large = NaN] = text.split(',').map(Number)
  if (!(small > 0 && large >= small)) throw new Error(`Expected two sizes, the smaller one first: ${text}`)
  return [small, large]
}
const ledgerLengths = parseSizes(values['long-ledger'])
/** Tables that grow with each equity point. */
const pointTables = ['equity_point', 'equity_page', 'equity_curve_page', 'position_layout', 'vault_change']

const server = process.env['BENCH_DATABASE_URL']
if (server === undefined) console.log('PostgreSQL is skipped: BENCH_DATABASE_URL is not set')
else await compare('PostgreSQL', parseSizes(values.vaults), (size, rows) => onPostgreSql(server, size, rows))
await compare('PGlite', parseSizes(values['pglite-vaults']), onPGlite)

/** Measures worlds of two sizes on an engine, and prints the results with their ratios. */
async function compare(
  engine: string,
  sizes: readonly [number, number],
  measureAt: (size: WorldSize, ledgerRows: number) => Promise<Measurement>,
): Promise<void> {
  const measurements: Measurement[] = []
  for (const [index, vaults] of sizes.entries())
    measurements.push(await measureAt(sizeOf(vaults), ledgerLengths[index] ?? 0))
  const [small, large] = measurements as [Measurement, Measurement]
  console.log(`\n${engine}, ${large.vaults} vaults: bytes per row`)
  console.table(bytesTable(large.bytes))
  const slowestPage = largestGrowth(small.pages, large.pages)
  const slowestLedgerCount = largestGrowth(small.ledgerCounts, large.ledgerCounts)
  const slowestVaultCount = largestGrowth(small.vaultCounts, large.vaultCounts)
  const row = (field: (one: Measurement) => number, digits = 0) => ({
    [small.vaults]: field(small).toFixed(digits),
    [large.vaults]: field(large).toFixed(digits),
    ratio: (field(large) / field(small)).toFixed(2),
  })
  console.log(`${engine}: worlds of ${small.vaults} and ${large.vaults} vaults`)
  console.table({
    'bytes of an equity point, with its pages and indexes': row(({ bytes }) => bytesPerRow(bytes, pointTables)),
    'bytes of a ledger row, with its indexes': row(({ bytes }) => bytesPerRow(bytes, ['ledger_row'])),
    [`first page, ms: ${slowestPage.name}`]: row(({ pages }) => pages.get(slowestPage.name) ?? NaN, 2),
    [`totalCount, ms, of ${ledgerLengths.join(' and ')} rows: ${slowestLedgerCount.name}`]: row(
      ({ ledgerCounts }) => ledgerCounts.get(slowestLedgerCount.name) ?? NaN,
      2,
    ),
    [`totalCount, ms, of vaults: ${slowestVaultCount.name}`]: row(
      ({ vaultCounts }) => vaultCounts.get(slowestVaultCount.name) ?? NaN,
      2,
    ),
    'memory of the gateway, MB': row((one) => one.gatewayMegabytes),
    'memory of the ingester, MB': row((one) => one.ingesterMegabytes),
  })
}

function sizeOf(vaults: number): WorldSize {
  const longPoints = Number(values['long-points'])
  return {
    vaults,
    longSeries: 2,
    longPoints,
    middlePoints: Math.min(2_000, longPoints),
    points: Number(values.points),
    ledgerRows: Number(values['ledger-rows']),
  }
}

async function onPostgreSql(url: string, size: WorldSize, ledgerRows: number): Promise<Measurement> {
  const world = await preparePostgreSql(url, size, false)
  try {
    const open = () => openDatabase({ engine: 'postgresql', url: world.url, connections: 5 })
    return await measure(open, { DATABASE_URL: world.url }, size, ledgerRows)
  } finally {
    await dropPostgreSql(url, size)
  }
}

async function onPGlite(size: WorldSize, ledgerRows: number): Promise<Measurement> {
  const folder = await mkdtemp(path.join(tmpdir(), 'scale-'))
  try {
    const dataDir = path.join(folder, 'data')
    await preparePGlite(dataDir, size)
    return await measure(() => openDatabase({ engine: 'pglite', dataDir }), { DATA_DIR: dataDir }, size, ledgerRows)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function measure(
  open: () => Promise<Database>,
  env: Readonly<Record<string, string>>,
  { vaults }: WorldSize,
  ledgerRows: number,
): Promise<Measurement> {
  const database = await open()
  // Before one ledger is lengthened, since its rows are inserted by one statement, unlike those of a feed.
  const bytes = await measureBytes(database)
  const run = (sql: string) => runScript(database, sql)
  await run(lengthenLedger(1, ledgerRows))
  await run('truncate ledger_tally')
  await fillLedgerTallies(run)
  await run('analyze')
  const pages = await timePages(database)
  const vaultCounts = await timeVaultCounts(database)
  const ledgerCounts = await timeLedgerCounts(database, vaultAddress(1))
  // Only one process can have the data directory of PGlite open.
  await database.close()
  return {
    vaults,
    bytes,
    pages,
    vaultCounts,
    ledgerCounts,
    gatewayMegabytes: await measureGatewayMegabytes(env, vaults),
    ingesterMegabytes: await measureIngesterMegabytes(env, { vaults, marks: Number(values.marks), newest: worldEnd }),
  }
}
