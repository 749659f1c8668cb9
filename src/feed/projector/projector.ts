import type { Database, Transaction } from '../../database/database.ts'
import { appendCommit, commitNonce, type LoggedBatch, readLogHead } from '../../database/write/commit-log.ts'
import { lockFeedPosition, saveFeedPosition, saveNewestFact } from '../../database/write/feed.ts'
import type { FiguresDay } from '../../database/write/strategy.ts'
import { addToStrategyDays, sumDays } from '../../database/write/strategy-day.ts'
import { saveVaultTallies } from '../../database/write/vaults/vault-tally.ts'
import type { Fact } from '../fact/fact.ts'
import {
  type ExpectedState,
  isUncovered,
  movesPosition,
  type ReachedState,
  versionsAfterKnown,
} from '../position/expected-state.ts'
import { HandledLines, handledEnd, type HandledPart, type NewestTimes } from '../position/handled-lines.ts'
import { requireStored } from '../position/require-applied.ts'
import { loadBatchState } from './batch-state.ts'
import type { ParsedLine, LineOutcome } from './line-outcome.ts'
import { project } from './project-lines.ts'
import type { Projection } from './projection.ts'
import { cacheTagsOf, countChanges, refreshStrategies, saveChanges } from './save-changes.ts'
import { changedStrategyDays } from './series.ts'

/** Options of {@link applyBatch}. */
export interface BatchOptions {
  /** Continues after a bad fact; without it the batch ends before the first one. */
  readonly skipBad: boolean
  /** Clock in Unix seconds: a new fact more than a day ahead of it is rejected; without it all times are accepted. */
  readonly nowSeconds?: (() => number) | undefined
  /** Called with the outcomes before the transaction commits. */
  readonly beforeCommit?: (outcomes: readonly LineOutcome[]) => Promise<void>
  /** The state that the database must still contain; without it nothing is verified. */
  readonly expected?: ExpectedState
  /** The part of the source that earlier runs have handled; without it no line is compared with the position. */
  readonly handledPart?: HandledPart | undefined
  /** Times of the newest known facts of vaults in the part, before the batch. */
  readonly newestRead?: NewestTimes
}

/** Result of a batch. */
export interface AppliedBatch extends ReachedState {
  /**
   * Outcome of each processed line, in order; where the batch stopped at a bad line, the last one is rejected. The lines from one
   * on that waits for the right clock are not processed.
   */
  readonly outcomes: readonly LineOutcome[]
}

/**
 * Applies a batch of facts and the feed's position in one transaction.
 * @throws {Error} a conflict with another writer, which has rolled everything back
 * @throws {CommitsLost} when earlier batches were lost; nothing of this batch is applied then
 * @throws {ClockBehind} when the first line is ahead of the clock because that is wrong
 */
export async function applyBatch(
  database: Database,
  feed: string,
  batch: readonly ParsedLine[],
  options: BatchOptions,
): Promise<AppliedBatch> {
  return database.transaction((transaction) => applyInTransaction(transaction, feed, batch, options))
}

async function applyInTransaction(
  transaction: Transaction,
  feed: string,
  batch: readonly ParsedLine[],
  { skipBad, nowSeconds, beforeCommit, expected, handledPart, newestRead = new Map() }: BatchOptions,
): Promise<AppliedBatch> {
  const [stored, { state, figures }] = await Promise.all([
    lockFeedPosition(transaction, feed),
    loadBatchState(transaction, factsOf(batch)),
  ])
  const positions = batch.map((line) => line.position)
  const end = handledEnd(handledPart, stored, expected?.lastPosition, positions)
  const opened = handledPart?.opened ?? new Set()
  const areAllTried = end === 0 || (handledPart?.isWhole === true && end === handledPart.bytes)
  const handledLines = areAllTried ? null : new HandledLines(end, newestRead, opened, factsOf(batch))
  const rules = { skipBad, clockSeconds: nowSeconds?.(), isDivisible: true, handledLines }
  const { projection, outcomes, position } = await project(transaction, state, batch, rules)
  await requireStored(transaction, expected, { stored, position })
  const nonce = commitNonce()
  await saveChanges(transaction, projection, nonce)
  const hasApplied = outcomes.some(({ status }) => status === 'applied')
  const moved = position !== undefined && movesPosition(stored, position, hasApplied, end) ? position : null
  if (moved !== null) saveFeedPosition(transaction, feed, stored, moved)
  const newestSeen = newestFactTime(batch, outcomes, ['applied', 'skipped'])
  if (newestSeen !== null) saveNewestFact(transaction, feed, newestSeen)
  await beforeCommit?.(outcomes)
  await saveSharedRows(transaction, projection, figures, {
    nonce,
    newestTs: newestFactTime(batch, outcomes, ['applied']),
  })
  const hasKnownOnly = !hasApplied && outcomes.some(({ status }) => status === 'skipped')
  // A position in the part that was handled may have been stored before, too, and then proves nothing of this batch.
  const isRepeated = moved !== null && moved.byte <= (handledPart?.bytes ?? 0)
  // Read after the facts that the lines were compared with, and the commit of this batch, so that it proves them.
  const head = hasKnownOnly || (hasApplied && isRepeated) ? await readLogHead(transaction) : null
  const versions = versionsAfterKnown(head?.version ?? null, moved !== null && !isRepeated)
  const isCovered = hasKnownOnly || (!hasApplied && !isUncovered(expected))
  return { outcomes, lastPosition: moved ?? (isCovered ? stored : undefined), versions }
}

/** Returns the facts among the lines of a batch. */
export function factsOf(batch: readonly ParsedLine[]): Fact[] {
  return batch.flatMap((line) => ('fact' in line ? [line.fact] : []))
}

/**
 * Writes the rows that all writers share, last in a transaction: figures of strategies, the commit log, and tallies of vaults.
 * Their locks serialise writers until the transaction ends.
 * @returns whether anything changed, so that a commit was logged
 */
export async function saveSharedRows(
  transaction: Transaction,
  projection: Projection,
  figures: readonly FiguresDay[],
  commit: Pick<LoggedBatch, 'nonce' | 'newestTs'>,
): Promise<boolean> {
  const { changes } = projection
  const days = sumDays(changedStrategyDays(changes.series.values()))
  const hasNewFigures = await refreshStrategies(transaction, projection, figures, days)
  const tags = cacheTagsOf(changes, hasNewFigures)
  if (tags.length > 0) appendCommit(transaction, { ...commit, tags, ledgerRows: changes.events.length })
  saveVaultTallies(transaction, countChanges(projection))
  addToStrategyDays(transaction, days)
  return tags.length > 0
}

/** Returns the time of the newest fact with one of these outcomes, in Unix seconds; null where there is none. */
export function newestFactTime(
  batch: readonly ParsedLine[],
  outcomes: readonly LineOutcome[],
  among: readonly LineOutcome['status'][],
): number | null {
  let newest: number | null = null
  for (const [index, { status }] of outcomes.entries()) {
    const line = batch[index]
    if (line === undefined || !('fact' in line) || !among.includes(status)) continue
    newest = Math.max(newest ?? 0, line.fact.ts)
  }
  return newest
}
