import type { Database, Transaction } from '../../database/database.ts'
import { appendCommit, commitNonce, type LoggedBatch, readLogHead } from '../../database/write/commit-log.ts'
import { saveFeedPosition, saveNewestFact } from '../../database/write/feed.ts'
import type { FiguresDay } from '../../database/write/strategy.ts'
import { addToStrategyDays, sumDays } from '../../database/write/strategy-day.ts'
import { saveVaultTallies } from '../../database/write/vaults/vault-tally.ts'
import type { Fact } from '../fact/fact.ts'
import { type ExpectedState, isUncovered, movesPosition, type SeenPosition } from '../position/expected-state.ts'
import { HandledLines, handledEnd, type HandledPrefix, type NewestTimes } from '../position/handled-lines.ts'
import { lockVerifiedPosition } from '../position/verified-position.ts'
import { loadBatchState } from './batch-state.ts'
import type { ParsedLine, LineOutcome } from './line-outcome.ts'
import { project } from './project-lines.ts'
import type { Projection } from './projection.ts'
import { cacheTagsOf, countChanges, refreshStrategies, saveChanges } from './save-changes.ts'
import { changedStrategyDays } from './series.ts'

/** Options of {@link applyBatch}. */
export interface BatchOptions {
  /** Sets bad facts aside, and continues; without it the batch ends before the first one. */
  readonly setAsideBad: boolean
  /** Whether the source is read as it grows. */
  readonly isFollowed?: boolean
  /** Clock in Unix seconds: a new fact more than a day ahead of it is rejected; without it all times are accepted. */
  readonly nowSeconds?: (() => number) | undefined
  /** Called with the outcomes before the transaction commits. */
  readonly beforeCommit?: (outcomes: readonly LineOutcome[]) => Promise<void>
  /** The state that the database must still contain; without it nothing is verified. */
  readonly expected?: ExpectedState
  /** The prefix of the source that earlier runs have handled; without it no line is compared with the position. */
  readonly handledPrefix?: HandledPrefix | undefined
  /** Times of the newest known facts of vaults in the prefix, before the batch. */
  readonly newestRead?: NewestTimes
}

/** Result of a batch. */
export interface AppliedBatch {
  readonly lastPosition: SeenPosition
  /** Version of a commit whose history contains all facts that the batch applied or skipped as known; null where there are none. */
  readonly version: string | null
  /**
   * Outcome of each processed line, in order; where the batch stopped at a bad line, the last one is rejected. The lines from one
   * on that waits for the right clock are not processed.
   */
  readonly outcomes: readonly LineOutcome[]
}

/** Result of a batch whose transaction is not committed: the response with its version is not awaited before. */
type UncommittedBatch = Omit<AppliedBatch, 'version'> & { readonly version: Promise<string | null> }

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
  const applied = await database.transaction((transaction) => applyInTransaction(transaction, feed, batch, options))
  return { ...applied, version: await applied.version }
}

async function applyInTransaction(
  transaction: Transaction,
  feed: string,
  batch: readonly ParsedLine[],
  { setAsideBad, isFollowed, nowSeconds, beforeCommit, expected, handledPrefix, newestRead = new Map() }: BatchOptions,
): Promise<UncommittedBatch> {
  const positions = batch.map((line) => line.position)
  const [{ stored }, { state, figures }] = await Promise.all([
    lockVerifiedPosition(transaction, feed, expected, positions),
    loadBatchState(transaction, factsOf(batch)),
  ])
  const end = handledEnd(handledPrefix, stored, expected?.lastPosition, positions)
  const opened = handledPrefix?.opened ?? new Set()
  const areAllTried = end === 0 || (handledPrefix?.coversFile === true && end === handledPrefix.bytes)
  const handledLines = areAllTried ? null : new HandledLines(end, newestRead, opened, factsOf(batch))
  const rules = { setAsideBad, clockSeconds: nowSeconds?.(), isDivisible: true, handledLines }
  const { projection, outcomes, position } = await project(transaction, state, batch, rules)
  const nonce = commitNonce()
  await saveChanges(transaction, projection, nonce)
  const hasApplied = outcomes.some(({ status }) => status === 'applied')
  const moved = position !== undefined && movesPosition(stored, position, hasApplied, end) ? position : null
  if (moved !== null) saveFeedPosition(transaction, feed, stored, moved, isFollowed)
  const newestSeen = newestFactTime(batch, outcomes, ['applied', 'skipped'])
  if (newestSeen !== null) saveNewestFact(transaction, feed, newestSeen)
  await beforeCommit?.(outcomes)
  const newestTs = newestFactTime(batch, outcomes, ['applied'])
  const { logged } = await saveContendedRows(transaction, projection, figures, { nonce, newestTs })
  const hasKnown = outcomes.some(({ status }) => status === 'skipped')
  // After known facts the run has seen the stored position, though facts before them may be uncovered: `Run.hasAppliedUncovered`.
  const isCovered = !hasApplied && (hasKnown || !isUncovered(expected))
  // Read after the facts that the lines were compared with, so that its history contains them.
  const head = logged === null && hasKnown ? await readLogHead(transaction) : null
  const version = logged ?? Promise.resolve(head?.version ?? null)
  return { outcomes, lastPosition: moved ?? (isCovered ? stored : undefined), version }
}

/** Returns the facts among the lines of a batch. */
export function factsOf(batch: readonly ParsedLine[]): Fact[] {
  return batch.flatMap((line) => ('fact' in line ? [line.fact] : []))
}

/**
 * Writes the rows that all writers contend for, last in a transaction: figures of strategies, the commit log, and tallies of vaults.
 * Their locks serialise writers until the transaction ends.
 * @returns the version of the commit, which the caller need not wait for; null where nothing changed, so that none was logged
 */
export async function saveContendedRows(
  transaction: Transaction,
  projection: Projection,
  figures: readonly FiguresDay[],
  commit: Pick<LoggedBatch, 'nonce' | 'newestTs'>,
): Promise<{ readonly logged: Promise<string> | null }> {
  const { changes } = projection
  const days = sumDays(changedStrategyDays(changes.series.values()))
  const hasNewFigures = await refreshStrategies(transaction, projection, figures, days)
  const tags = cacheTagsOf(changes, hasNewFigures)
  const logged =
    tags.length > 0 ? appendCommit(transaction, { ...commit, tags, ledgerRows: changes.events.length }) : null
  saveVaultTallies(transaction, countChanges(projection))
  addToStrategyDays(transaction, days)
  return { logged }
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
