import { Decimal } from '../../domain/decimal.ts'
import { newestCompleteDay, realisedFigures, type StrategyDay, windowStart } from '../../domain/returns.ts'
import { WriteConflict } from '../conflict.ts'
import type { Transaction } from '../database.ts'
import { insertSet } from './sets.ts'

/** A strategy fact as it is stored. */
export interface RecordedStrategy {
  readonly id: string
  readonly ts: number
  readonly name: string
  readonly tagline: string
  readonly description: string
  readonly digest: string
}

export interface KnownStrategies {
  /** Ids of all strategies there are. */
  readonly ids: Set<string>
  /** Digests of the known facts of the strategies asked for, by id and time. */
  readonly revisions: { strategyId: string; ts: bigint; digest: string }[]
}

/** Reads what strategies there are, and what is known of some of them. */
export async function knownStrategies(transaction: Transaction, ids: readonly string[]): Promise<KnownStrategies> {
  const all = await transaction.strategy.findMany({ select: { id: true } })
  const revisions =
    ids.length === 0 ? [] : await transaction.strategyRevision.findMany({ where: { strategyId: { in: [...ids] } } })
  return { ids: new Set(all.map(({ id }) => id)), revisions }
}

const upsertStrategies = insertSet(
  'strategy',
  { id: 'text', published_at: 'bigint', name: 'text', tagline: 'text', description: 'text' },
  `on conflict (id) do update set published_at = excluded.published_at, name = excluded.name,
    tagline = excluded.tagline, description = excluded.description
    where excluded.published_at > strategy.published_at`,
)
const insertRevisions = insertSet('strategy_revision', { strategy_id: 'text', ts: 'bigint', digest: 'text' })

/** Publishes or replaces catalogue entries: the newest fact of each stands, whenever it came; all are known from now on. */
export async function saveStrategies(transaction: Transaction, facts: readonly RecordedStrategy[]): Promise<void> {
  const newest = new Map<string, RecordedStrategy>()
  for (const fact of facts) if (fact.ts > (newest.get(fact.id)?.ts ?? -1)) newest.set(fact.id, fact)
  await upsertStrategies(
    transaction,
    Array.from(newest.values(), ({ id, ts, name, tagline, description }) => ({
      id,
      published_at: ts,
      name,
      tagline,
      description,
    })),
  )
  await insertRevisions(
    transaction,
    facts.map(({ id, ts, digest }) => ({ strategy_id: id, ts, digest })),
  )
}

/** What a batch changes of a strategy's days: the oldest day that a vault was valued on, and the newest time. */
export interface ChangedDays {
  readonly oldestDay: number
  readonly newestSeconds: number
}

/**
 * Lets several writers add to a strategy's vaults at once, unless a batch changes a complete day: its figures have to be
 * computed anew, by one writer while no other has days that it can't see.
 * @returns the strategies whose figures this transaction has to refresh
 * @throws {WriteConflict} where another writer has completed a day meanwhile
 */
export async function lockStrategies(
  transaction: Transaction,
  changed: ReadonlyMap<string, ChangedDays>,
): Promise<string[]> {
  const stale = await staleStrategies(transaction, changed)
  for (const id of [...changed.keys()].sort()) {
    const strength = stale.includes(id) ? 'no key update' : 'share'
    await transaction.$executeRawUnsafe(`select from strategy where id = $1 for ${strength}`, id)
  }
  const staleNow = await staleStrategies(transaction, changed)
  if (staleNow.some((id) => !stale.includes(id))) throw new WriteConflict('another writer has completed a day')
  return stale
}

async function staleStrategies(transaction: Transaction, changed: ReadonlyMap<string, ChangedDays>): Promise<string[]> {
  const known = new Map((await figureDays(transaction, [...changed.keys()])).map((figures) => [figures.id, figures]))
  const isStale = ([id, { oldestDay, newestSeconds }]: [string, ChangedDays]): boolean => {
    const { newest = 0, figuresDay = null } = known.get(id) ?? {}
    const lastDay = newestCompleteDay(Math.max(newest, newestSeconds))
    return oldestDay <= lastDay || lastDay > (figuresDay ?? -1)
  }
  return [...changed].filter(isStale).map(([id]) => id)
}

/** Brings liveApr and sigma of strategies up to date with what this transaction has written. */
export async function refreshFigures(transaction: Transaction, ids: readonly string[]): Promise<void> {
  for (const { id, newest } of await figureDays(transaction, ids)) {
    const lastDay = newestCompleteDay(newest)
    const figures = realisedFigures(await strategyDays(transaction, id, lastDay), lastDay)
    await transaction.strategy.update({ where: { id }, data: { ...figures, figuresDay: lastDay } })
  }
}

interface FigureDay {
  id: string
  /** The newest equity point of the strategy's vaults. */
  newest: number
  figuresDay: number | null
}

async function figureDays(transaction: Transaction, ids: readonly string[]): Promise<FigureDay[]> {
  if (ids.length === 0) return []
  return transaction.$queryRawUnsafe(
    `select strategy.id, max(vault.equity_at)::float8 as newest, strategy.figures_day as "figuresDay"
     from strategy join vault on vault.strategy_id = strategy.id
     where strategy.id = any($1::text[]) and vault.equity_at is not null
     group by strategy.id order by strategy.id`,
    ids,
  )
}

/** What a day without facts carries is the end of the vault's last day before it, with no growth. */
const daysOfVaults = `
  select days.day, sum(held.start_usd)::text as "startUsd", sum(held.start_usd * held.growth)::text as "grownUsd"
  from generate_series($2::integer, $3::integer) as days(day) cross join vault cross join lateral (
    select case when vault_day.day = days.day then start_usd else end_usd end as start_usd,
      case when vault_day.day = days.day then growth else 1 end as growth
    from vault_day where vault_address = vault.address and vault_day.day <= days.day
    order by vault_day.day desc limit 1) held
  where vault.strategy_id = $1 and held.start_usd > 0
  group by days.day order by days.day`

async function strategyDays(transaction: Transaction, id: string, lastDay: number): Promise<StrategyDay[]> {
  const rows = await transaction.$queryRawUnsafe<{ day: number; startUsd: string; grownUsd: string }[]>(
    daysOfVaults,
    id,
    windowStart(lastDay),
    lastDay,
  )
  return rows.map(({ day, startUsd, grownUsd }) => ({
    day,
    startUsd: new Decimal(startUsd),
    grownUsd: new Decimal(grownUsd),
  }))
}
