/**
 * Compares worlds of two sizes on each engine: bytes of a row, times of lists and of counts, and memory.
 *   BENCH_DATABASE_URL=postgres://... npm run bench:scale [-- --vaults 2000,100000 --pglite-vaults 200,5000 ...]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { runScript } from '../support/database.ts'
import { bytesEach, bytesTable, measureBytes, type TableBytes } from './scale/bytes.ts'
import { maxGrown, timeLedgerCounts, timePages, type Times, timeVaultCounts } from './scale/lists.ts'
import { gatewayMegabytes, ingesterMegabytes } from './scale/memory.ts'
import { dropPostgreSql, preparePGlite, preparePostgreSql } from './speed/prepare.ts'
import { fillLedgerTallies, lengthenLedger, vaultAddress, worldEnd, type WorldSize } from './speed/world.ts'

const { values } = parseArgs({
  options: {
    vaults: { type: 'string', default: '2000,100000' },
    'pglite-vaults': { type: 'string', default: '200,5000' },
    points: { type: 'string', default: '60' },
    'long-points': { type: 'string', default: '20000' },
    'ledger-rows': { type: 'string', default: '20' },
    /** Rows of the one ledger that is counted. */
    'long-ledger': { type: 'string', default: '1000,1000000' },
    marks: { type: 'string', default: '20000' },
  },
})

interface Measured {
  readonly vaults: number
  readonly bytes: readonly TableBytes[]
  readonly pages: Times
  readonly vaultCounts: Times
  readonly ledgerCounts: Times
  readonly gatewayMegabytes: number
  readonly ingesterMegabytes: number
}

const numbers = (text: string): [number, number] => {
  const [small = NaN, large = NaN] = text.split(',').map(Number)
  if (!(small > 0 && large >= small)) throw new Error(`${text} is not two sizes, the smaller one first`)
  return [small, large]
}
const ledgers = numbers(values['long-ledger'])
const ofPoint = ['equity_point', 'equity_page', 'equity_curve_page', 'position_layout', 'vault_change']

const server = process.env['BENCH_DATABASE_URL']
if (server === undefined) console.log('PostgreSQL is left out: BENCH_DATABASE_URL is not set')
else await compare('PostgreSQL', numbers(values.vaults), (size, rows) => onPostgreSql(server, size, rows))
await compare('PGlite', numbers(values['pglite-vaults']), onPGlite)

async function compare(
  engine: string,
  sizes: readonly [number, number],
  measureAt: (size: WorldSize, ledgerRows: number) => Promise<Measured>,
): Promise<void> {
  const measured: Measured[] = []
  for (const [index, vaults] of sizes.entries()) measured.push(await measureAt(sizeOf(vaults), ledgers[index] ?? 0))
  const [small, large] = measured as [Measured, Measured]
  console.log(`\n${engine}, ${large.vaults} vaults: bytes of a row`)
  console.table(bytesTable(large.bytes))
  const page = maxGrown(small.pages, large.pages)
  const ofLedgers = maxGrown(small.ledgerCounts, large.ledgerCounts)
  const ofVaults = maxGrown(small.vaultCounts, large.vaultCounts)
  const row = (of: (one: Measured) => number, digits = 0) => ({
    [small.vaults]: of(small).toFixed(digits),
    [large.vaults]: of(large).toFixed(digits),
    ratio: (of(large) / of(small)).toFixed(2),
  })
  console.log(`${engine}: worlds of ${small.vaults} and ${large.vaults} vaults`)
  console.table({
    'bytes of an equity point, with its pages and indexes': row(({ bytes }) => bytesEach(bytes, ofPoint)),
    'bytes of a ledger row, with its indexes': row(({ bytes }) => bytesEach(bytes, ['ledger_row'])),
    [`first page, ms: ${page.name}`]: row(({ pages }) => pages.get(page.name) ?? NaN, 2),
    [`totalCount, ms, of ${ledgers.join(' and ')} rows: ${ofLedgers.name}`]: row(
      ({ ledgerCounts }) => ledgerCounts.get(ofLedgers.name) ?? NaN,
      2,
    ),
    [`totalCount, ms, of vaults: ${ofVaults.name}`]: row(({ vaultCounts }) => vaultCounts.get(ofVaults.name) ?? NaN, 2),
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

async function onPostgreSql(url: string, size: WorldSize, ledgerRows: number): Promise<Measured> {
  const world = await preparePostgreSql(url, size, false)
  try {
    const open = () => openDatabase({ engine: 'postgresql', url: world.url, connections: 5 })
    return await measure(open, { DATABASE_URL: world.url }, size, ledgerRows)
  } finally {
    await dropPostgreSql(url, size)
  }
}

async function onPGlite(size: WorldSize, ledgerRows: number): Promise<Measured> {
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
): Promise<Measured> {
  const database = await open()
  // Before the one long ledger, whose rows came at once.
  const bytes = await measureBytes(database)
  const run = (sql: string) => runScript(database, sql)
  await run(lengthenLedger(1, ledgerRows))
  await run('truncate ledger_tally')
  await fillLedgerTallies(run)
  await run('analyze')
  const pages = await timePages(database)
  const vaultCounts = await timeVaultCounts(database)
  const ledgerCounts = await timeLedgerCounts(database, vaultAddress(1))
  // A data directory belongs to one process.
  await database.close()
  const newest = worldEnd
  return {
    vaults,
    bytes,
    pages,
    vaultCounts,
    ledgerCounts,
    gatewayMegabytes: await gatewayMegabytes(env, vaults),
    ingesterMegabytes: await ingesterMegabytes(env, { vaults, marks: Number(values.marks), newest }),
  }
}
