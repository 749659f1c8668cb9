import type { Database, Transaction } from '../../database/database.ts'
import { changedTags } from '../../database/commits/cache-tags.ts'
import type { CacheTag } from '../../database/commits/change-listener.ts'
import { isConflict } from '../../database/errors.ts'
import { saveBuckets } from '../../database/write/bucket.ts'
import { appendCommit } from '../../database/write/commit-log.ts'
import { saveDays, savePoints } from '../../database/write/equity.ts'
import { type FeedPosition, lockFeedPosition, saveFeedPosition, saveNewestFact } from '../../database/write/feed.ts'
import { saveEvents } from '../../database/write/ledger.ts'
import { replacePositions } from '../../database/write/position.ts'
import {
  type ChangedDays,
  type Figures,
  lockStrategies,
  refreshFigures,
  saveStrategies,
} from '../../database/write/strategy.ts'
import { saveScreens } from '../../database/write/universe.ts'
import { replaceHoldings, saveVaults, type VaultRecord } from '../../database/write/vault.ts'
import { DomainError } from '../../domain/errors.ts'
import { dayOf } from '../../domain/returns.ts'
import type { BatchLine, LineOutcome } from './line-outcome.ts'
import { digestOf } from '../fact/digest.ts'
import { type Before, movesPosition, requireBefore } from '../feed-position.ts'
import { areKnown, loadKnown } from './known-facts.ts'
import { type Known, Projection } from './projection.ts'

export interface BatchOptions {
  /** Goes on past a bad fact; without it the batch ends before the first one. */
  readonly skipBad: boolean
  /** Is told what became of the lines while nothing of it is final yet. */
  readonly beforeCommit?: (fates: readonly LineOutcome[]) => Promise<void>
  /** What must still stand where the batch is applied; without it, the batch is taken for the feed's first. */
  readonly before?: Before
}

/** What a batch comes to. */
export interface AppliedBatch {
  /** The fate of each candidate taken, in order; where the batch stopped, the last is the bad one's. */
  readonly fates: readonly LineOutcome[]
  /** The feed's position after it; undefined where facts were applied that the position doesn't tell of. */
  readonly seen: FeedPosition | null | undefined
}

const mostAttempts = 5

/**
 * Applies a batch of facts and the feed's position in one transaction.
 * @throws {FeedMoved} where what was applied before it is no longer there; nothing of the batch is applied
 */
export async function applyBatch(
  database: Database,
  feed: string,
  batch: readonly BatchLine[],
  options: BatchOptions,
): Promise<AppliedBatch> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction((transaction) => applyOnce(transaction, feed, batch, options))
    } catch (error) {
      // Another writer opened the same vault or turned the same day at once: what it wrote is known on the next try.
      if (attempt === mostAttempts || !isConflict(error)) throw error
    }
  }
}

/**
 * Compares what a run has applied with the database, and writes nothing.
 * @throws {FeedMoved} where some of it is no longer there
 */
export async function requireApplied(
  database: Pick<Database, 'transaction'>,
  feed: string,
  before: Before,
): Promise<void> {
  if (before.seen === undefined && before.handled.length === 0) return
  await database.transaction(async (transaction) => {
    const stored = await lockFeedPosition(transaction, feed)
    // A run that has applied nothing yet lacks nothing where another run is ahead of it.
    if (before.handled.length === 0 && (stored?.line ?? 0) > (before.seen?.line ?? 0)) return
    await requireBefore(before, { stored, position: undefined, areKnown: (some) => areKnown(transaction, some) })
  })
}

async function applyOnce(
  transaction: Transaction,
  feed: string,
  batch: readonly BatchLine[],
  { skipBad, beforeCommit, before }: BatchOptions,
): Promise<AppliedBatch> {
  const facts = batch.flatMap((candidate) => ('fact' in candidate ? [candidate.fact] : []))
  const [stored, { known, figures }] = await Promise.all([
    lockFeedPosition(transaction, feed),
    loadKnown(transaction, facts),
  ])
  const projection = new Projection(known)
  const fates: LineOutcome[] = []
  let position: FeedPosition | undefined
  for (const candidate of batch) {
    const fate = fateOf(projection, candidate)
    fates.push(fate)
    if (fate.fate === 'rejected' && !skipBad) break
    position = candidate.position
  }
  await requireBefore(before, { stored, position, areKnown: (some) => areKnown(transaction, some) })
  const tags = await save(transaction, projection, figures)
  const hasApplied = fates.some(({ fate }) => fate === 'applied')
  const moved = position !== undefined && movesPosition(stored, position, hasApplied) ? position : null
  if (moved !== null) saveFeedPosition(transaction, feed, stored, moved)
  const newestTold = newestFact(batch, fates, ['applied', 'skipped'])
  if (newestTold !== null) saveNewestFact(transaction, feed, newestTold)
  await beforeCommit?.(fates)
  // Nothing comes after it: it orders the writers, who wait for each other from here to the end of the transaction.
  if (tags.length > 0) appendCommit(transaction, newestFact(batch, fates, ['applied']), tags)
  return { fates, seen: moved ?? (hasApplied ? undefined : stored) }
}

/** Time of the newest fact of a batch that had one of these fates, in Unix seconds; null where none had. */
function newestFact(
  batch: readonly BatchLine[],
  fates: readonly LineOutcome[],
  among: readonly LineOutcome['fate'][],
): number | null {
  let newest: number | null = null
  for (const [index, { fate }] of fates.entries()) {
    const candidate = batch[index]
    if (candidate === undefined || !('fact' in candidate) || !among.includes(fate)) continue
    newest = Math.max(newest ?? 0, candidate.fact.ts)
  }
  return newest
}

function fateOf(projection: Projection, candidate: BatchLine): LineOutcome {
  if ('flaw' in candidate) return { fate: 'rejected', kind: candidate.kind, flaw: candidate.flaw }
  const { fact } = candidate
  try {
    return { fate: projection.apply(fact, digestOf(fact)) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { fate: 'rejected', kind: fact.kind, flaw: { key: error.key, reason: error.message } }
  }
}

/** @returns the tags of what it changed */
async function save(
  transaction: Transaction,
  { known, changes }: Projection,
  figures: readonly Figures[],
): Promise<CacheTag[]> {
  const touched = [...changes.touched].map((address) => known.vaults.get(address) as VaultRecord)
  saveStrategies(transaction, changes.strategies)
  await saveScreens(transaction, changes.screens)
  const stale = await lockStrategies(transaction, figures, changedDays(known, changes))
  saveVaults(
    transaction,
    touched.filter(({ address }) => changes.opened.has(address)),
    touched.filter(({ address }) => !changes.opened.has(address)),
  )
  replaceHoldings(
    transaction,
    touched.filter(({ address }) => changes.moved.has(address)),
  )
  savePoints(transaction, [...changes.points.values()])
  saveBuckets(
    transaction,
    Array.from(changes.pointsBefore, ([vault, pointsBefore]) => {
      return { vault, pointsBefore, points: known.vaults.get(vault)?.pointCount ?? pointsBefore }
    }),
  )
  saveDays(transaction, [...changes.days.values()])
  saveEvents(transaction, changes.events)
  replacePositions(transaction, changes.positions)
  await refreshFigures(transaction, stale)
  const isScreened = changes.screens.length > 0
  return changedTags([...changes.touched], {
    catalogue: changes.strategies.length > 0 || isScreened || stale.size > 0,
    universe: isScreened,
  })
}

/** Which days of each strategy this batch changes. */
function changedDays(known: Known, { points }: Projection['changes']): Map<string, ChangedDays> {
  const changed = new Map<string, ChangedDays>()
  for (const { vault, ts } of points.values()) {
    const strategy = known.vaults.get(vault)?.strategyId
    if (strategy === undefined) continue
    const { oldestDay, newestSeconds } = changed.get(strategy) ?? { oldestDay: Infinity, newestSeconds: 0 }
    changed.set(strategy, {
      oldestDay: Math.min(oldestDay, dayOf(ts)),
      newestSeconds: Math.max(newestSeconds, ts),
    })
  }
  return changed
}
