import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { pagesFromPages, pagesFromPoints } from '../../../src/database/write/equity-page.ts'
import { encodePointState } from '../../../src/database/history/point-state.ts'
import { curvePagesFromPages, curvePagesFromPoints } from '../../../src/database/write/curve-page.ts'
import { Decimal } from '../../../src/domain/decimal.ts'
import { bucketFan, firstCurveLevel, maxPageLevels, pageBuckets } from '../../../src/domain/equity.ts'
import { noFees } from '../../../src/domain/fees.ts'
import { newVault } from '../../../src/domain/vault.ts'
import { eventTypes } from '../../../src/domain/ledger.ts'

/** Number of vaults and of their rows in a world. */
export interface WorldSize {
  readonly vaults: number
  /** Number of vaults with the long series, and of those after them with the medium one. */
  readonly longSeries: number
  /** Equity points of a long series, and of a medium one. */
  readonly longPoints: number
  readonly middlePoints: number
  /** Equity points of each other vault. */
  readonly points: number
  /** Ledger rows of each vault. */
  readonly ledgerRows: number
}

/** Default size, of which the README has the results. */
export const defaultSize: WorldSize = {
  vaults: 2_000,
  longSeries: 50,
  longPoints: 200_000,
  middlePoints: 2_000,
  points: 500,
  ledgerRows: 500,
}

/** Unix seconds of the newest point of every vault: 2026-01-01. */
export const worldEnd = 1_767_225_600
const minutesApart = 10
export const strategyCount = 12
export const holdings = { USDC: '50000', WETH: '20' } as const

const pairsEach = 4
const eligible = 40
const positionsEach = 2
const historyDays = 40
const symbols = `(array['WETH', 'WBTC', 'cbBTC', 'AAPLx', 'PEPE', 'ARB', 'LINK', 'UNI'])`
const venues = `array['uniswap-v3', 'aerodrome']`

/** Returns the address of the vault with a number from 1: of decimal digits only, so that it is its own checksummed form. */
export function vaultAddress(number: number): string {
  return `0x${String(number).padStart(40, '0')}`
}

/** Runs one or more SQL statements. */
export type RunSql = (sql: string) => Promise<unknown>

/** Fills the empty tables of the read model by SQL, with rows that satisfy the same invariants as the projector's. */
export async function buildWorld(run: RunSql, size: WorldSize): Promise<void> {
  await run(catalogue)
  await run(universe)
  await run(vaults(size))
  await run(positions)
  await run(benchmark)
  await run(days)
  await fillStrategyDays(run)
  for (const [from, to, points] of seriesLengths(size)) {
    // In transactions of at most a million points.
    const vaultsPerStatement = Math.max(1, Math.floor(1_000_000 / points))
    for (let first = from; first <= to; first += vaultsPerStatement)
      await run(equity(first, Math.min(to, first + vaultsPerStatement - 1), points))
  }
  await run(history)
  await run(ledger(size))
  await fillPages(run)
  await fillVaultTallies(run)
  await fillLedgerTallies(run)
  // So that autovacuum does not run during the measurements.
  await run('vacuum analyze')
}

/** Fills the tallies of vaults and of their owners by the SQL of the migration that created them. */
export async function fillVaultTallies(run: RunSql): Promise<void> {
  const sql = await migration('20261122120000_vault_lists')
  await run(sql.slice(sql.indexOf('UPDATE "vault"'), sql.indexOf('DROP INDEX')))
}

/** Fills the days of strategies, which are sums of the days of vaults, by the SQL of the migration that created them. */
async function fillStrategyDays(run: RunSql): Promise<void> {
  const sql = await migration('20261122220000_history')
  const from = sql.indexOf('INSERT INTO "strategy_day"')
  await run(sql.slice(from, sql.indexOf(';', from)))
}

/** Fills the tallies of ledgers by the SQL of the migration that created them. */
export async function fillLedgerTallies(run: RunSql): Promise<void> {
  const sql = await migration('20261122130000_ledger_tallies')
  const insert = 'INSERT INTO "ledger_tally"'
  const columns = `${insert} ("vault_id", "ts", ${eventTypes.map((type) => `"${type}"`).join(', ')})`
  await run(sql.slice(sql.indexOf(insert)).replace(insert, columns).replaceAll('"vault_address"', '"vault_id"'))
}

/** Fills the pages of all series by the statements of the projector. */
async function fillPages(run: RunSql): Promise<void> {
  for (let level = 1; level <= maxPageLevels; level++) {
    const pages = `(point_count - 1) / ${pageBuckets * bucketFan ** level}`
    const series = `(select id as vault, point_count as points, 0 as low, ${pages} as high from vault where ${pages} > 0) growing`
    await run(level === 1 ? pagesFromPoints('1', series) : pagesFromPages(String(level), series))
    if (level >= firstCurveLevel) {
      const curves = level === firstCurveLevel ? curvePagesFromPoints : curvePagesFromPages
      await run(curves(String(level), series))
    }
  }
}

function migration(name: string): Promise<string> {
  return readFile(path.resolve(import.meta.dirname, '../../../prisma/migrations', name, 'migration.sql'), 'utf8')
}

/** Returns ranges of vaults with the number of their points: the number of the first vault, of the last one, and points. */
function seriesLengths({
  vaults,
  longSeries,
  longPoints,
  middlePoints,
  points,
}: WorldSize): [number, number, number][] {
  const spans: [number, number, number][] = [
    [1, longSeries, longPoints],
    [longSeries + 1, 2 * longSeries, middlePoints],
    [2 * longSeries + 1, vaults, points],
  ]
  return spans.filter(([from, to]) => from <= to)
}

function numbers(from: number | string, to: number | string, name: string): string {
  return `generate_series(${from}, ${to}) ${name}`
}

const address = (number: string): string => `'0x' || lpad(${number}::text, 40, '0')`
/** SQL of a vault's capital. */
const capital = (vault: string): string => `(100000 + ${vault} * 10)::numeric`

const blockOf = (row: string): string => `140000000 + (${row}) * 1800`
const pointsOf = (vault: string, { longSeries, longPoints, middlePoints, points }: WorldSize): string =>
  `case when ${vault} <= ${longSeries} then ${longPoints} when ${vault} <= ${2 * longSeries} then ${middlePoints} else ${points} end`

/**
 * SQL of a vault's value at a point: a sine wave and a sawtooth, in whole micro-dollars.
 * @param ago number of points from this one to the newest
 */
const value = (vault: string, ago: string): string =>
  `round((100000 + ${vault} * 10 + 9000 * sin(${ago} / 900.0 + ${vault}) + (${ago} * 7919 % 1000) / 3.0)::numeric, 6)`

const catalogue = `
  insert into strategy (id, published_at, name, tagline, description, live_apr, sigma)
    select 'strategy-' || s, ${worldEnd - 90 * 86_400} + s, 'Strategy ' || s, 'A range around the market, number ' || s || '.',
      'Provides liquidity around the market, and moves when it has left the range; number ' || s || '.',
      case when s % 4 > 0 then 0.05 + s / 100.0 end, case when s % 4 > 0 then 0.2 + s / 90.0 end
    from ${numbers(1, strategyCount, 's')};
  insert into strategy_revision (strategy_id, ts, digest) select id, published_at, decode(left(md5(id), 16), 'hex') from strategy;
  insert into strategy_pair (strategy_id, ordinal, a, b, venues)
    select 'strategy-' || s, p, ${symbols}[1 + (s + p) % 8], 'USDC', ${venues}
    from ${numbers(1, strategyCount, 's')}, ${numbers(0, pairsEach - 1, 'p')}`

const universe = `
  insert into screen (ts, digest) values (${worldEnd}, decode(left(md5('screen'), 16), 'hex'));
  insert into universe_asset (ordinal, symbol, name, category, venues, liquidity_usd)
    select n, 'AST' || n, 'Asset number ' || n, (enum_range(null::asset_category))[1 + n % 4], ${venues}, 1000000.5 + n * 1234.25
    from ${numbers(0, eligible - 1, 'n')};
  insert into universe_pair (ordinal, a, b, venues, tvl_usd, emissions)
    select n, 'AST' || n, 'USDC', ${venues}, 500000.75 + n * 321.5, n % 3 = 0 from ${numbers(0, eligible - 1, 'n')}`

const vaults = (size: WorldSize): string => `
  insert into vault (id, address, owner, strategy_id, opened_at, digest, status, value_usd, capital_in_usd, capital_out_usd, net_usd,
      strategy_delta_usd, market_delta_usd, benchmark_paid_out_usd, position_count, out_of_range_count, fees_contributed_usd,
      fees_withdrawn_usd, fees_taxed_usd, fees_high_water_usd, suspension_reason, suspended_at, equity_at, updated_at,
      point_count, ledger_block)
    select v, ${address('v')}, ${address('(900000 + v)')}, 'strategy-' || 1 + v % ${strategyCount},
      ${worldEnd - size.longPoints * minutesApart * 60 - 86_400 * historyDays}, decode(left(md5(v::text), 16), 'hex'),
      (case when v % 50 = 0 then 'suspended' when v % 5 = 0 then 'attention' else 'earning' end)::vault_status,
      worth, ${capital('v')}, 0, worth - ${capital('v')}, worth - ${capital('v')} - 1234.567891, 1234.567891, 0, ${positionsEach},
      case when v % 5 = 0 then 1 else 0 end, ${capital('v')}, 0, 12.5, 345.678912,
      case when v % 50 = 0 then 'oracle deviation above 2 %' end, case when v % 50 = 0 then ${worldEnd - 3_600} end, ${worldEnd}, ${worldEnd},
      ${pointsOf('v', size)}, ${blockOf(`${size.ledgerRows} - 1`)}
    from ${numbers(1, size.vaults, 'v')}, lateral (select ${value('v', '0')} as worth) valued;
  select setval(pg_get_serial_sequence('vault', 'id'), ${size.vaults})`

/** Two positions for each vault; the second one of every fifth vault is out of range. */
const positions = `
  insert into position (vault_id, id, ordinal, a, b, venue, fee_tier, price_lower, price_upper, price_current, tick_lower,
      tick_upper, tick_current, in_range, pending_rewards_usd)
    select vault.id, 'position-' || p, p, 'WETH', 'USDC', 'uniswap-v3', 500, 1800.123456, 2900.654321, price, -201240, -196440,
      case when is_in then -198000 else -190000 end, is_in, 12.345678 + p
    from vault, ${numbers(0, positionsEach - 1, 'p')},
      lateral (select p = 0 or out_of_range_count = 0 as is_in) placed,
      lateral (select case when is_in then 2500.5 else 3100.25 end as price) priced;
  insert into vault_pool (vault_id, a, b, venue) select distinct vault_id, a, b, venue from position`

const benchmark = `
  insert into benchmark_holding (vault_id, symbol, quantity)
    select vault.id, symbol, quantity from vault, (values ('USDC', ${holdings.USDC}), ('WETH', ${holdings.WETH})) held (symbol, quantity)`

/** The newest complete day, as days since 1970. The value at the start of a vault's oldest day is 0. */
const newestDay = worldEnd / 86_400 - 1
const days = `
  insert into vault_day (vault_id, day, start_usd, end_usd, growth)
    select vault.id, ${newestDay} - d, case when d < ${historyDays - 1} then value_usd else 0 end, value_usd, 1 + (d % 7) / 1000.0
    from vault, ${numbers(0, historyDays - 1, 'd')};
  update strategy set figures_day = ${newestDay}`

/** Encoded state of a mark, in hexadecimal: all points have the same one, whose length is typical. */
const pointState = encodePointState({
  ts: worldEnd,
  markedAt: worldEnd,
  state: { ...newVault, valueUsd: new Decimal(100_000), positions: { open: positionsEach, outOfRange: 0 } },
  fees: { ...noFees, highWaterUsd: new Decimal('101234.567891') },
  positions: Array.from({ length: positionsEach }, () => ({
    range: { current: new Decimal('2500.5') },
    ticks: { lower: -201_240, current: -198_000 },
    pendingRewardsUsd: new Decimal('12.345678'),
  })),
}).toString('hex')

/** Layouts of the positions above, and the columns that say that the history of each vault is complete. */
const history = `
  insert into position_layout (vault_id, ts, positions)
    select vault.id, opened_at, json_agg(json_build_array(held.id, a, b, venue, fee_tier, price_lower::text, price_upper::text,
      tick_lower, tick_upper) order by ordinal)::text
    from vault join position held on held.vault_id = vault.id group by vault.id;
  update vault set history_since = opened_at, marked_at = equity_at, layout_digest = decode(left(md5('layout'), 16), 'hex')`

const equity = (from: number, to: number, points: number): string => `
  insert into equity_point (vault_id, ts, value_usd, capital_in_usd, capital_out_usd, mark_digest, market_delta_usd, state)
    select v, ${worldEnd} - ago * ${minutesApart * 60}, worth, ${capital('v')}, 0, decode(left(md5(ago::text), 16), 'hex'),
      round((worth - ${capital('v')}) / 3, 6) + 1234.567891, '\\x${pointState}'
    from ${numbers(from, to, 'v')}, generate_series(${points - 1}, 0, -1) ago,
      lateral (select ${value('v', 'ago')} as worth) valued`

/**
 * Returns SQL that adds harvests before the oldest row of a vault's ledger, a second and a block apart, until it has this
 * many rows. The oldest is inserted first, as a feed does: the order of insertion affects how full the pages of indexes are.
 */
export const lengthenLedger = (vault: number, rows: number): string => `
  insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, position_id, digest)
    select ${vault}, decode(md5('long-' || r) || md5(r || '-long'), 'hex'), 0, oldest.block - r, oldest.ts - r, 'harvest', 1, 'position-0',
      decode(left(md5(r::text), 16), 'hex')
    from (select min(block) as block, min(ts) as ts, count(*) as count from ledger_row where vault_id = ${vault}) oldest,
      generate_series(${rows} - count, 1, -1) r`

/** A deposit, then repeatedly two harvests, a rebalance and a fee. */
const ledger = ({ vaults, ledgerRows }: WorldSize): string => `
  insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, position_id, reason, digest)
    select v, decode(md5(v || '-' || r) || md5(r || '-' || v), 'hex'), r % 7, ${blockOf('r')},
      ${worldEnd} - (${ledgerRows} - 1 - r) * 21600, type::event_type,
      case when type in ('deposit', 'fee', 'harvest') then round((100 + v + r / 3.0)::numeric, 6) end,
      case when type in ('harvest', 'rebalance') then 'position-0' end, null, decode(left(md5(v || ':' || r), 16), 'hex')
    from ${numbers(1, vaults, 'v')}, ${numbers(0, ledgerRows - 1, 'r')},
      lateral (select case when r = 0 then 'deposit' else (array['harvest', 'harvest', 'rebalance', 'fee'])[1 + r % 4] end as type) typed`
