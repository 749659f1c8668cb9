import { Decimal } from '../../domain/decimal.ts'
import { newestCompleteDay, realisedFigures, type StrategyDay, windowStart } from '../../domain/returns.ts'
import { WriteConflict } from '../errors.ts'
import type { Statement, Transaction } from '../database.ts'
import { bytesOrNull, insertSet } from './sets.ts'

/** A strategy fact as it is stored. */
export interface RecordedStrategy {
  readonly id: string
  readonly ts: number
  readonly name: string
  readonly tagline: string
  readonly description: string
  readonly digest: string
}

/** The strategies and strategy facts that are stored already. */
export interface KnownStrategies {
  /** Ids of all strategies. */
  readonly ids: Set<string>
  /** Digests of the stored facts about the requested strategies, by id and time. */
  readonly revisions: { strategyId: string; ts: number; digest: string }[]
}

const everyStrategy: Statement = { name: 'strategy_ids', text: 'select id from strategy' }
const revisionsAmong: Statement = {
  name: 'known_revisions',
  text: `select strategy_id as "strategyId", ts::float8 as ts, encode(digest, 'hex') as digest from strategy_revision
    where strategy_id = any($1::text[])`,
}

/** Reads the ids of all strategies, and the stored facts about some of them. */
export async function knownStrategies(transaction: Transaction, ids: readonly string[]): Promise<KnownStrategies> {
  const [all, revisions] = await Promise.all([
    transaction.query<{ id: string }>(everyStrategy, []),
    ids.length === 0 ? [] : transaction.query<KnownStrategies['revisions'][number]>(revisionsAmong, [ids]),
  ])
  return { ids: new Set(all.map(({ id }) => id)), revisions }
}

const upsertStrategies = insertSet(
  'strategy',
  { id: 'text', published_at: 'bigint', name: 'text', tagline: 'text', description: 'text' },
  `on conflict (id) do update set published_at = excluded.published_at, name = excluded.name,
    tagline = excluded.tagline, description = excluded.description
    where excluded.published_at > strategy.published_at`,
)
const insertRevisions = insertSet('strategy_revision', { strategy_id: 'text', ts: 'bigint', digest: 'bytea' })

/**
 * Writes strategy facts: the newest fact of each strategy determines its catalogue entry, in whatever order they
 * arrive.
 */
export function saveStrategies(transaction: Transaction, facts: readonly RecordedStrategy[]): void {
  const newest = new Map<string, RecordedStrategy>()
  for (const fact of facts) if (fact.ts > (newest.get(fact.id)?.ts ?? -1)) newest.set(fact.id, fact)
  upsertStrategies(
    transaction,
    Array.from(newest.values(), ({ id, ts, name, tagline, description }) => ({
      id,
      published_at: ts,
      name,
      tagline,
      description,
    })),
  )
  insertRevisions(
    transaction,
    facts.map(({ id, ts, digest }) => ({ strategy_id: id, ts, digest: bytesOrNull(digest) })),
  )
}

/**
 * Days of a strategy that a batch changes: the oldest day with a new valuation, and the newest time in Unix seconds.
 */
export interface ChangedDays {
  readonly oldestDay: number
  readonly newestSeconds: number
}

/** How current the APR and sigma of a strategy are. */
export interface Figures {
  readonly id: string
  /** Time of the newest equity point of its vaults, in Unix seconds; 0 where they have none. */
  readonly newestSeconds: number
  /** The last day of the window of the stored values. */
  readonly figuresDay: number | null
}

const figuresAmong: Statement = {
  name: 'figures',
  text: `select id, figures_day as "figuresDay",
      (select coalesce(max(equity_at), 0) from vault where strategy_id = strategy.id)::float8 as "newestSeconds"
    from strategy
    where id = any($1::text[] || array(select strategy_id from vault where address = any($2::text[])))`,
}

/** Reads how current the APR and sigma are, of given strategies and of the strategies of given vaults. */
export function readFigures(
  transaction: Transaction,
  ids: readonly string[],
  vaults: readonly string[] = [],
): Promise<Figures[]> {
  return transaction.query(figuresAmong, [ids, vaults])
}

const lockShared: Statement = { name: 'share_strategy', text: 'select from strategy where id = $1 for share' }
const lockAlone: Statement = { name: 'lock_strategy', text: 'select from strategy where id = $1 for no key update' }

/**
 * Locks strategies: shared, so that several writers can add to their vaults, but exclusively where a batch changes a
 * complete day. Then APR and sigma must be recomputed while no other transaction has days that this one cannot see.
 * @param figures as read earlier in this transaction
 * @returns the strategies whose APR and sigma this transaction must refresh, with the newest complete day of each
 * @throws {WriteConflict} when another writer has completed a day meanwhile
 */
export async function lockStrategies(
  transaction: Transaction,
  figures: readonly Figures[],
  changed: ReadonlyMap<string, ChangedDays>,
): Promise<Map<string, number>> {
  if (changed.size === 0) return new Map()
  const ids = [...changed.keys()].sort()
  const before = completeDays(figures, changed)
  for (const id of ids) transaction.send(before.get(id)?.isStale === true ? lockAlone : lockShared, [id])
  const now = completeDays(await readFigures(transaction, ids), changed)
  const stale = ids.filter((id) => before.get(id)?.isStale)
  if (ids.some((id) => now.get(id)?.isStale && !stale.includes(id))) {
    throw new WriteConflict('another writer has completed a day')
  }
  return new Map(stale.map((id) => [id, now.get(id)?.lastDay ?? 0]))
}

/** Returns the newest complete day of each changed strategy, and whether its APR and sigma are outdated. */
function completeDays(figures: readonly Figures[], changed: ReadonlyMap<string, ChangedDays>) {
  const known = new Map(figures.map((each) => [each.id, each]))
  const found = new Map<string, { lastDay: number; isStale: boolean }>()
  for (const [id, { oldestDay, newestSeconds }] of changed) {
    const { newestSeconds: newestBefore = 0, figuresDay = null } = known.get(id) ?? {}
    const lastDay = newestCompleteDay(Math.max(newestBefore, newestSeconds))
    found.set(id, { lastDay, isStale: oldestDay <= lastDay || lastDay > (figuresDay ?? -1) })
  }
  return found
}

const updateFigures: Statement = {
  name: 'update_figures',
  text: 'update strategy set live_apr = $2::float8, sigma = $3::float8, figures_day = $4::integer where id = $1',
}

/**
 * Recomputes APR and sigma of strategies from all days, including those of this transaction.
 * @param stale the newest complete day of each strategy
 */
export async function refreshFigures(transaction: Transaction, stale: ReadonlyMap<string, number>): Promise<void> {
  const refresh = async ([id, lastDay]: [string, number]): Promise<void> => {
    const { liveApr, sigma } = realisedFigures(await strategyDays(transaction, id, lastDay), lastDay)
    transaction.send(updateFigures, [id, liveApr, sigma, lastDay])
  }
  await Promise.all(Array.from(stale, refresh))
}

/** A vault without facts on a day starts it with the end value of its last day before, and has no growth. */
const daysOfVaults: Statement = {
  name: 'days_of_strategy',
  text: `
  select days.day, sum(held.start_usd)::text as "startUsd", sum(held.start_usd * held.growth)::text as "grownUsd"
  from generate_series($2::integer, $3::integer) as days(day) cross join vault cross join lateral (
    select case when vault_day.day = days.day then start_usd else end_usd end as start_usd,
      case when vault_day.day = days.day then growth else 1 end as growth
    from vault_day where vault_id = vault.id and vault_day.day <= days.day
    order by vault_day.day desc limit 1) held
  where vault.strategy_id = $1 and held.start_usd > 0
  group by days.day order by days.day`,
}

async function strategyDays(transaction: Transaction, id: string, lastDay: number): Promise<StrategyDay[]> {
  const rows = await transaction.query<{ day: number; startUsd: string; grownUsd: string }>(daysOfVaults, [
    id,
    windowStart(lastDay),
    lastDay,
  ])
  return rows.map(({ day, startUsd, grownUsd }) => ({
    day,
    startUsd: new Decimal(startUsd),
    grownUsd: new Decimal(grownUsd),
  }))
}
