import { Decimal } from '../../domain/decimal.ts'
import { newestCompleteDay, realisedFigures, type StrategyDay, windowStart } from '../../domain/returns.ts'
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
  /** Time of the newest fact of each strategy there is, by id. */
  readonly publishedAt: Map<string, number>
  /** Digests of the known facts of the strategies asked for, by id and time. */
  readonly revisions: { strategyId: string; ts: bigint; digest: string }[]
}

/** Reads what strategies there are, and what is known of some of them. */
export async function knownStrategies(transaction: Transaction, ids: readonly string[]): Promise<KnownStrategies> {
  const all = await transaction.strategy.findMany({ select: { id: true, publishedAt: true } })
  const revisions =
    ids.length === 0 ? [] : await transaction.strategyRevision.findMany({ where: { strategyId: { in: [...ids] } } })
  return { publishedAt: new Map(all.map(({ id, publishedAt }) => [id, Number(publishedAt)])), revisions }
}

const upsertStrategies = insertSet(
  'strategy',
  { id: 'text', published_at: 'bigint', name: 'text', tagline: 'text', description: 'text' },
  `on conflict (id) do update set published_at = excluded.published_at, name = excluded.name,
    tagline = excluded.tagline, description = excluded.description`,
)
const insertRevisions = insertSet('strategy_revision', { strategy_id: 'text', ts: 'bigint', digest: 'text' })

/** Publishes or replaces catalogue entries: the newest fact of each stands, all of them are known from now on. */
export async function saveStrategies(transaction: Transaction, facts: readonly RecordedStrategy[]): Promise<void> {
  const newest = new Map(facts.map((fact) => [fact.id, fact]))
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

/**
 * Lets several writers add to a strategy's vaults at once, and keeps the one that computes its figures off until they
 * are done: else it would compute them without their days.
 */
export async function shareStrategies(transaction: Transaction, ids: readonly string[]): Promise<void> {
  await transaction.$executeRawUnsafe('select from strategy where id = any($1::text[]) order by id for share', ids)
}

/**
 * Brings liveApr and sigma up to date where a complete day has changed.
 * @param changed the strategies whose vaults were valued, with the oldest day that this changed
 */
export async function refreshFigures(transaction: Transaction, changed: ReadonlyMap<string, number>): Promise<void> {
  const ids = [...changed.keys()]
  if (ids.length === 0) return
  const stale = (await figureDays(transaction, ids)).filter(
    ({ id, newest, figuresDay }) => newestCompleteDay(newest) > (figuresDay ?? -1) || (changed.get(id) ?? 0) <= newestCompleteDay(newest),
  )
  if (stale.length === 0) return
  const staleIds = stale.map(({ id }) => id)
  await transaction.$executeRawUnsafe('select from strategy where id = any($1::text[]) order by id for update', staleIds)
  for (const { id, newest } of await figureDays(transaction, staleIds)) {
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

function figureDays(transaction: Transaction, ids: readonly string[]): Promise<FigureDay[]> {
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
