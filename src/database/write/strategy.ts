import { newestCompleteDay, realisedFigures, strategyDays } from '../../domain/returns.ts'
import { WriteConflict } from '../errors.ts'
import type { Statement, Transaction } from '../database.ts'
import { bytesOrNull, insertSet } from './sets.ts'
import { type ChangedStrategyDay, readStrategyChanges } from './strategy-day.ts'

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
  /** Digests of the requested facts that are stored, with their ids and times. */
  readonly revisions: { strategyId: string; ts: number; digest: string }[]
}

const everyStrategy: Statement = { name: 'strategy_ids', text: 'select id from strategy' }
const revisionsAmong: Statement = {
  name: 'known_revisions',
  text: `select strategy_id as "strategyId", ts::float8 as ts, encode(digest, 'hex') as digest
    from unnest($1::text[], $2::bigint[]) as wanted(id, at) join strategy_revision on strategy_id = wanted.id and ts = at`,
}

/**
 * Reads which of some strategy facts are stored, and then the ids of all strategies, so that these include the strategies of the
 * facts: each statement sees what other writers have committed before it.
 */
export async function knownStrategies(
  transaction: Pick<Transaction, 'query'>,
  facts: readonly Pick<RecordedStrategy, 'id' | 'ts'>[],
): Promise<KnownStrategies> {
  const wanted = [facts.map(({ id }) => id), facts.map(({ ts }) => ts)]
  const [revisions, all] = await Promise.all([
    facts.length === 0 ? [] : transaction.query<KnownStrategies['revisions'][number]>(revisionsAmong, wanted),
    transaction.query<{ id: string }>(everyStrategy, []),
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
export interface FiguresDay {
  readonly id: string
  /** The newest complete day, which is the last one of the window of the stored values; null before there is one. */
  readonly figuresDay: number | null
}

const figuresAmong: Statement = {
  name: 'figures',
  text: `select id, figures_day as "figuresDay" from strategy
    where id = any($1::text[] || array(select strategy_id from vault where address = any($2::text[])))`,
}

/** Reads how current the APR and sigma are, of given strategies and of the strategies of given vaults. */
export function readFiguresDays(
  transaction: Transaction,
  ids: readonly string[],
  vaults: readonly string[] = [],
): Promise<FiguresDay[]> {
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
  figures: readonly FiguresDay[],
  changed: ReadonlyMap<string, ChangedDays>,
): Promise<Map<string, number>> {
  if (changed.size === 0) return new Map()
  const ids = [...changed.keys()].sort()
  const before = completeDays(figures, changed)
  for (const id of ids) transaction.send(before.get(id)?.isStale === true ? lockAlone : lockShared, [id])
  const now = completeDays(await readFiguresDays(transaction, ids), changed)
  const stale = ids.filter((id) => before.get(id)?.isStale)
  if (ids.some((id) => now.get(id)?.isStale && !stale.includes(id))) {
    throw new WriteConflict('another writer has completed a day')
  }
  return new Map(stale.map((id) => [id, now.get(id)?.lastDay ?? 0]))
}

/**
 * Returns the newest complete day of each changed strategy, and whether its APR and sigma are outdated. A batch that completes a
 * day refreshes them, so `figuresDay` is the newest day that was complete before this batch.
 */
function completeDays(figures: readonly FiguresDay[], changed: ReadonlyMap<string, ChangedDays>) {
  const known = new Map(figures.map(({ id, figuresDay }) => [id, figuresDay]))
  const found = new Map<string, { lastDay: number; isStale: boolean }>()
  for (const [id, { oldestDay, newestSeconds }] of changed) {
    const dayBefore = known.get(id) ?? -1
    const lastDay = Math.max(dayBefore, newestCompleteDay(newestSeconds))
    found.set(id, { lastDay, isStale: oldestDay <= lastDay || lastDay > dayBefore })
  }
  return found
}

const updateFigures: Statement = {
  name: 'update_figures',
  text: 'update strategy set live_apr = $2::float8, sigma = $3::float8, figures_day = $4::integer where id = $1',
}

/**
 * Recomputes APR and sigma of strategies that {@link lockStrategies} has locked, so that the changes of days by all other
 * transactions are visible.
 * @param stale the newest complete day of each strategy
 * @param changes of days by this transaction, which are not stored yet
 */
export async function refreshFigures(
  transaction: Transaction,
  stale: ReadonlyMap<string, number>,
  changes: readonly ChangedStrategyDay[],
): Promise<void> {
  const refresh = async ([id, lastDay]: [string, number]): Promise<void> => {
    const own = changes.filter(({ strategyId }) => strategyId === id)
    const days = strategyDays([...(await readStrategyChanges(transaction, id, lastDay)), ...own], lastDay)
    const { liveApr, sigma } = realisedFigures(days, lastDay)
    transaction.send(updateFigures, [id, liveApr, sigma, lastDay])
  }
  await Promise.all(Array.from(stale, refresh))
}
