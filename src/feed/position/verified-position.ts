import type { Database, Transaction } from '../../database/database.ts'
import { findCommit } from '../../database/write/commit-log.ts'
import { type FeedPosition, isSamePosition, lockFeedPosition, type LockedPosition } from '../../database/write/feed.ts'
import { isFurtherOn } from '../reading/prefix-digest.ts'
import { retryConflicts } from '../retry.ts'
import { CommitsLost, type ExpectedState, type SeenPosition } from './expected-state.ts'

/** The position of a feed in a database that contains everything that a run has applied. */
export interface VerifiedPosition {
  /** The stored position, locked until the transaction ends; null where nothing of the feed has been applied. */
  readonly stored: LockedPosition | null
  /** Version of a commit that proves it from now on; null where the run has none yet. */
  readonly version: string | null
}

/**
 * Locks the position of a feed, and verifies that the database contains everything that a run has applied: by a commit, or before
 * the run has one by the position at which it started. Once it has one, another run of the feed may have moved the position.
 * @param expected undefined where nothing is verified
 * @param positions those after the lines of the batch that follows: the response to an earlier attempt of it may have been lost
 * @throws {CommitsLost} when commits are lost
 */
export async function lockVerifiedPosition(
  transaction: Transaction,
  feed: string,
  expected: ExpectedState | undefined,
  positions: readonly FeedPosition[] = [],
): Promise<VerifiedPosition> {
  const { startsAfter, lastPosition, version = null } = expected ?? {}
  const [stored, found] = await Promise.all([
    lockFeedPosition(transaction, feed),
    version === null ? null : findCommit(transaction, version),
  ])
  const isReached = (one: SeenPosition): boolean => one !== undefined && isSamePosition(stored, one)
  const isThere =
    version === null ? startsAfter === undefined || [lastPosition, ...positions].some(isReached) : found !== null
  if (!isThere) throw new CommitsLost(stored)
  return { stored, version: found }
}

/**
 * Verifies without writing that the database contains everything that a run has applied. The commit that proves it is replaced by
 * a newer one before it is pruned from the log.
 * @throws {CommitsLost} when commits are lost
 */
export async function requireApplied(
  database: Pick<Database, 'transaction'>,
  run: { readonly source: { readonly name: string }; expected: ExpectedState },
): Promise<void> {
  const { expected, source } = run
  const { startsAfter, lastPosition, version } = expected
  if (version === null && startsAfter === undefined) return
  const verify = (transaction: Transaction) => lockVerifiedPosition(transaction, source.name, expected)
  try {
    const verified = await retryConflicts(() => database.transaction(verify))
    // A batch that ran meanwhile has a state of its own.
    if (run.expected === expected) run.expected = { ...expected, version: verified.version }
  } catch (error) {
    // A run that has applied nothing yet has nothing to lose where another run is ahead of it.
    const hasNothing = version === null && lastPosition != null
    if (error instanceof CommitsLost && hasNothing && isFurtherOn(error.stored, lastPosition)) return
    throw error
  }
}

/**
 * Calls {@link requireApplied} each hour, also while a run waits for lines: far more often than commits are pruned. The next batch
 * notices by itself where commits are lost.
 * @returns ends it
 */
export function checkHourly(check: () => Promise<void>): () => void {
  const interval = setInterval(() => void check().catch(() => undefined), 3_600_000)
  return () => clearInterval(interval)
}
