import type { Database } from '../../src/database/database.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, position, strategy } from '../support/world.ts'

/** Size of a database for load tests. */
export interface LargeWorld {
  /** Points of each long series. */
  readonly points: number
  readonly longVaults: number
  readonly shortVaults: number
  /** Rows of the long ledger, which belongs to one more vault. */
  readonly ledgerRows: number
  /** Days of each vault and strategy before the first point. */
  readonly days: number
}

const minute = 60
/** Maximum number of points of short series, and of rows of their ledgers. */
const maxShortPoints = 500
const strategies = 20
const factBatchSize = 20_000

/** Returns the addresses of the vaults with long series, with short series, and with the long ledger. */
export function largeWorldAddresses({ longVaults, shortVaults }: LargeWorld): {
  longSeriesVaults: string[]
  shortSeriesVaults: string[]
  ledger: string
} {
  const addressRange = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => addressOf(from + index))
  return {
    longSeriesVaults: addressRange(1, longVaults),
    shortSeriesVaults: addressRange(longVaults + 1, shortVaults),
    ledger: addressOf(longVaults + shortVaults + 1),
  }
}

/** Fills a database: one vault with a long and one with a short series by facts, the others as copies of their rows. */
export async function fillLargeWorld(database: Database, world: LargeWorld): Promise<void> {
  const { longSeriesVaults, shortSeriesVaults, ledger } = largeWorldAddresses(world)
  await apply(database, [...Array.from({ length: strategies }, (_, at) => strategy(`s${at}`)), universe])
  for (const [addresses, points] of [
    [longSeriesVaults, world.points],
    [shortSeriesVaults, Math.min(maxShortPoints, world.points)],
  ] as const) {
    const [first = '', ...others] = addresses
    const facts = vaultFacts(first, points)
    for (let at = 0; at < facts.length; at += factBatchSize) await apply(database, facts.slice(at, at + factBatchSize))
    await addDays(database, first, world.days)
    await copyVault(database, first, others)
  }
  await addStrategyDays(database)
  await apply(database, vaultFacts(ledger, Math.min(maxShortPoints, world.points)))
  await extendLedger(database, ledger, world.ledgerRows)
  await database.prisma.$executeRawUnsafe('analyze')
}

const venues = ['uniswap-v3', 'aerodrome']
const universe: FactInput = {
  kind: 'screen',
  ts: midnight,
  assets: Array.from({ length: 50 }, (_, at) => ({
    symbol: `A${at}`,
    name: `Asset ${at}`,
    category: 'major',
    venues,
    liquidityUsd: '1000',
  })),
  pairs: Array.from({ length: 50 }, (_, at) => ({ a: `A${at}`, b: 'USDC', venues, tvlUsd: '10', emissions: true })),
  strategies: Object.fromEntries(
    Array.from({ length: strategies }, (_, at) => [
      `s${at}`,
      Array.from({ length: 20 }, () => ({ a: 'A', b: 'B', venues })),
    ]),
  ),
}

/** Returns the facts of a vault with a mark a minute, a ledger, and five positions at the end. */
function vaultFacts(vault: string, points: number): FactInput[] {
  const end = midnight + points * minute
  return [
    opened(vault, 's0'),
    deposit(vault, midnight, '1000'),
    ...Array.from({ length: points - 2 }, (_, at) =>
      mark(vault, midnight + (at + 1) * minute, (1_000 + 100 * Math.sin(at / 700) + (at % 13)).toFixed(6)),
    ),
    mark(vault, end, '1100', { positions: ['a', 'b', 'c', 'd', 'e'].map((id) => position(id)) }),
    ...Array.from({ length: Math.min(maxShortPoints, points) }, (_, at) =>
      event(vault, end + at, { type: 'harvest', positionId: 'a', amountUsd: '1' }),
    ),
  ]
}

/** Inserts daily rows before the first day of a vault. */
async function addDays(database: Database, vault: string, days: number): Promise<void> {
  await database.prisma.$executeRawUnsafe(
    `insert into vault_day (vault_id, day, start_usd, end_usd, growth)
      select id, first.day - at, 1000, 1000, 1 + (at % 13 - 6) / 1000.0
      from vault cross join lateral (select min(day) as day from vault_day where vault_id = vault.id) first
        cross join generate_series(1, $2::integer) as at
      where address = $1`,
    vault,
    days,
  )
}

/** Inserts the daily rows of strategies, computed from those of their vaults. */
async function addStrategyDays(database: Database): Promise<void> {
  await database.prisma.$executeRawUnsafe(
    `insert into strategy_day (strategy_id, day, change_usd, gain_usd)
      select strategy_id, day, 0, sum((growth - 1) * start_usd)
      from vault join vault_day on vault_id = vault.id group by strategy_id, day
      on conflict do nothing`,
  )
}

/** Appends rows to a ledger until it has a given number, one per second and block after the newest row. */
async function extendLedger(database: Database, vault: string, rows: number): Promise<void> {
  await database.prisma.$executeRawUnsafe(
    `with newest as (
        select vault.id, max(block) as block, max(ts) as ts, count(*) as count
        from vault join ledger_row on vault_id = vault.id where address = $1 group by vault.id),
      added as (
        insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, position_id, digest)
        select id, decode(lpad(to_hex(block + at), 64, '0'), 'hex'), 0, block + at, ts + at, type, 1,
          case when type <> 'fee' then 'a' end, 'bulk row'
        from newest cross join generate_series(1, $2::integer - count) as at
          cross join lateral (select (array['harvest', 'rebalance', 'fee'])[1 + at % 3]::event_type as type) types
        returning block, ts)
    update vault set ledger_block = last.block, updated_at = greatest(updated_at, last.ts)
    from (select max(block) as block, max(ts) as ts from added having count(*) > 0) last where address = $1`,
    vault,
    rows,
  )
}

/** Copies the rows of a vault in all tables to new vaults with other addresses. */
async function copyVault(database: Database, from: string, to: readonly string[]): Promise<void> {
  const columns = await database.prisma.$queryRawUnsafe<{ table: string; others: string[] }[]>(
    `select keyed.table_name::text as "table",
        array_agg(quote_ident(other.column_name) order by other.ordinal_position) as others
      from information_schema.columns keyed
        join information_schema.columns other using (table_schema, table_name)
      where table_schema = 'public'
        and (keyed.column_name = 'vault_id' and other.column_name <> 'vault_id'
          or (keyed.table_name, keyed.column_name) = ('vault', 'address') and other.column_name not in ('id', 'address'))
      group by keyed.table_name order by keyed.table_name <> 'vault'`,
  )
  for (const { table, others } of columns) {
    const key = table === 'vault' ? 'address' : 'vault_id'
    const copies = table === 'vault' ? 'unnest($2::text[]) as copy(key)' : copiedIds
    const original = table === 'vault' ? '$1' : '(select id from vault where address = $1)'
    const copied = others.join(', ')
    await database.prisma.$executeRawUnsafe(
      `insert into "${table}" (${key}, ${copied})
        select copy.key, ${copied} from "${table}" cross join ${copies} where ${key} = ${original}`,
      from,
      to,
    )
  }
}

const copiedIds = '(select vault.id as key from vault where address = any($2::text[])) copy'
