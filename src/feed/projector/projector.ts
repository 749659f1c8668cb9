import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database, Transaction } from '../../database/database.ts'
import { DatabaseUnavailable, isConflict, isUniqueViolation } from '../../database/errors.ts'
import { appendCommit, commitNonce, hasCommit, type LoggedBatch } from '../../database/write/commit-log.ts'
import { type FeedPosition, lockFeedPosition, saveFeedPosition, saveNewestFact } from '../../database/write/feed.ts'
import type { FiguresState } from '../../database/write/strategy.ts'
import { addToStrategyDays, sumDays } from '../../database/write/strategy-day.ts'
import { saveVaultTallies } from '../../database/write/vaults/vault-tally.ts'
import { DomainError } from '../../domain/errors.ts'
import type { BatchLine, LineOutcome } from './line-outcome.ts'
import type { Fact } from '../fact/fact.ts'
import { type ExpectedState, hasHandled, mayLose, movesPosition, requireExpectedState } from '../feed-position.ts'
import type { BatchState } from './changes.ts'
import { areKnown, loadBatchState } from './batch-state.ts'
import { Projection } from './projection.ts'
import { countChanges, saveChanges, refreshStrategies, saveSettledPoints } from './save-changes.ts'
import { changedStrategyDays } from './series.ts'

/** Options of {@link applyBatch}. */
export interface BatchOptions {
  /** Continues after a bad fact; without it the batch ends before the first one. */
  readonly skipBad: boolean
  /** Called with the outcomes before the transaction commits. */
  readonly beforeCommit?: (outcomes: readonly LineOutcome[]) => Promise<void>
  /** The state that the database must still contain; without it nothing is verified. */
  readonly expected?: ExpectedState
}

/** Result of a batch. */
export interface AppliedBatch {
  /** Outcome of each processed line, in order; where the batch stopped, the last one is rejected. */
  readonly outcomes: readonly LineOutcome[]
  /**
   * Position of the feed after the batch; undefined where facts were applied that the stored position does not cover.
   */
  readonly lastPosition: FeedPosition | null | undefined
}

const maxAttempts = 5

/**
 * Applies a batch of facts and the feed's position in one transaction. Retries conflicts with other writers.
 * @throws {DatabaseUnavailable} when the conflicts do not end
 * @throws {CommitsLost} when earlier batches were lost; nothing of this batch is applied then
 */
export async function applyBatch(
  database: Database,
  feed: string,
  batch: readonly BatchLine[],
  options: BatchOptions,
): Promise<AppliedBatch> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction((transaction) => applyInTransaction(transaction, feed, batch, options))
    } catch (error) {
      // Another writer opened the same vault or completed the same day meanwhile: the retry sees its commit.
      if (!isConflict(error) || (attempt === maxAttempts && isUniqueViolation(error))) throw error
      if (attempt === maxAttempts) throw new DatabaseUnavailable(error, 'Other writers keep changing the same rows.')
    }
  }
}

/**
 * Verifies without writing that the database contains everything that a run has applied.
 * @throws {CommitsLost} when commits are lost
 */
export async function requireApplied(
  database: Pick<Database, 'transaction'>,
  feed: string,
  expected: ExpectedState,
): Promise<void> {
  if (!mayLose(expected)) return
  await database.transaction(async (transaction) => {
    const stored = await lockFeedPosition(transaction, feed)
    // A run that has applied nothing yet has lost nothing where another run is ahead of it.
    if (!hasHandled(expected) && (stored?.line ?? 0) > (expected.lastPosition?.line ?? 0)) return
    await requireExpectedState(expected, {
      stored,
      position: undefined,
      areKnown: (some) => areKnown(transaction, some),
      hasCommit: (version) => hasCommit(transaction, version),
    })
  })
}

async function applyInTransaction(
  transaction: Transaction,
  feed: string,
  batch: readonly BatchLine[],
  { skipBad, beforeCommit, expected }: BatchOptions,
): Promise<AppliedBatch> {
  const [stored, { known, figures }] = await Promise.all([
    lockFeedPosition(transaction, feed),
    loadBatchState(transaction, factsOf(batch)),
  ])
  const { projection, outcomes, position } = await project(transaction, known, batch, skipBad)
  await requireExpectedState(expected, {
    stored,
    position,
    areKnown: (some) => areKnown(transaction, some),
    hasCommit: (version) => hasCommit(transaction, version),
  })
  const nonce = commitNonce()
  await saveChanges(transaction, projection, nonce)
  const hasApplied = outcomes.some(({ status }) => status === 'applied')
  const moved = position !== undefined && movesPosition(stored, position, hasApplied) ? position : null
  if (moved !== null) saveFeedPosition(transaction, feed, stored, moved)
  const newestSeen = newestFactTime(batch, outcomes, ['applied', 'skipped'])
  if (newestSeen !== null) saveNewestFact(transaction, feed, newestSeen)
  await beforeCommit?.(outcomes)
  await saveSharedRows(transaction, projection, figures, {
    nonce,
    newestTs: newestFactTime(batch, outcomes, ['applied']),
  })
  return { outcomes, lastPosition: moved ?? (hasApplied ? undefined : stored) }
}

/** Returns the facts among the lines of a batch. */
export function factsOf(batch: readonly BatchLine[]): Fact[] {
  return batch.flatMap((line) => ('fact' in line ? [line.fact] : []))
}

/** Lines folded into changes. */
export interface ProjectedLines {
  readonly projection: Projection
  /** Outcome of each processed line, in order. */
  readonly outcomes: readonly LineOutcome[]
  /** Position after the last line that was applied, skipped or set aside; undefined where there is none. */
  readonly position: FeedPosition | undefined
}

/** Lines that are projected before their points are written and the event loop runs again. */
const linesPerTurn = 500

/**
 * Folds lines into changes of the known state, up to the first bad line unless bad lines are skipped. Writes settled points in
 * between, so that the database stores them while further lines are projected.
 */
export async function project(
  transaction: Transaction,
  known: BatchState,
  batch: readonly BatchLine[],
  skipBad: boolean,
): Promise<ProjectedLines> {
  const projection = new Projection(known)
  const outcomes: LineOutcome[] = []
  let position: FeedPosition | undefined
  for (const line of batch) {
    if (outcomes.length > 0 && outcomes.length % linesPerTurn === 0) {
      saveSettledPoints(transaction, projection)
      await nextTurn()
    }
    const outcome = outcomeOf(projection, line)
    outcomes.push(outcome)
    if (outcome.status === 'rejected' && !skipBad) break
    position = line.position
  }
  return { projection, outcomes, position }
}

/**
 * Writes the rows that all writers share, last in a transaction: figures of strategies, the commit log, and tallies of vaults.
 * Their locks serialise writers until the transaction ends.
 * @returns whether anything changed, so that a commit was logged
 */
export async function saveSharedRows(
  transaction: Transaction,
  projection: Projection,
  figures: readonly FiguresState[],
  commit: Pick<LoggedBatch, 'nonce' | 'newestTs'>,
): Promise<boolean> {
  const days = sumDays(changedStrategyDays(projection.changes.series.values()))
  const tags = await refreshStrategies(transaction, projection, figures, days)
  if (tags.length > 0) appendCommit(transaction, { ...commit, tags, ledgerRows: projection.changes.events.length })
  saveVaultTallies(transaction, countChanges(projection))
  addToStrategyDays(transaction, days)
  return tags.length > 0
}

/** Returns the time of the newest fact with one of these outcomes, in Unix seconds; null where there is none. */
export function newestFactTime(
  batch: readonly BatchLine[],
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

function outcomeOf(projection: Projection, line: BatchLine): LineOutcome {
  if ('issue' in line) return { status: 'rejected', kind: line.kind, issue: line.issue }
  const { fact, digest, issueIfNew: issue } = line
  try {
    if (issue !== undefined && !projection.isKnown(fact, digest)) return { status: 'rejected', kind: fact.kind, issue }
    return { status: projection.apply(fact, digest) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { status: 'rejected', kind: fact.kind, issue: { key: error.key, reason: error.message } }
  }
}
