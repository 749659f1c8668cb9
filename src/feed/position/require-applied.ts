import type { Database, Transaction } from '../../database/database.ts'
import { hasCommit, readLogHead } from '../../database/write/commit-log.ts'
import { type FeedPosition, lockFeedPosition } from '../../database/write/feed.ts'
import { areKnown } from '../projector/batch-state.ts'
import { isFurtherOn } from '../reading/prefix-digest.ts'
import { retryConflicts } from '../retry.ts'
import { type ExpectedState, hasKnown, mayLose, provenBy, requireExpectedState } from './expected-state.ts'

/**
 * Verifies without writing that the database contains everything that a run has applied. From then on the newest commit proves what
 * older ones did, which are pruned from the log in time.
 * @throws {CommitsLost} when commits are lost
 */
export async function requireApplied(
  database: Pick<Database, 'transaction'>,
  run: { readonly source: { readonly name: string }; expected: ExpectedState },
): Promise<void> {
  const { expected } = run
  if (!mayLose(expected)) return
  const check = async (transaction: Transaction) => {
    const stored = await lockFeedPosition(transaction, run.source.name)
    // A run that has applied nothing yet has no position to lose where another run is ahead of it.
    const { lastPosition } = expected
    const isBehind = !hasKnown(expected) && lastPosition != null && isFurtherOn(stored, lastPosition)
    const required = isBehind ? { ...expected, startsAfter: undefined } : expected
    await requireStored(transaction, required, { stored, position: undefined })
    return readLogHead(transaction)
  }
  const newest = await retryConflicts(() => database.transaction(check))
  // A batch that ran meanwhile has a state of its own.
  if (newest !== null && run.expected === expected) run.expected = provenBy(expected, newest.version)
}

/**
 * Verifies in a transaction that the database contains everything that a run has applied.
 * @param positions the stored one, locked, and that after the batch of this transaction, if any
 * @throws {CommitsLost} when commits are lost
 */
export async function requireStored(
  transaction: Transaction,
  expected: ExpectedState | undefined,
  positions: { readonly stored: FeedPosition | null; readonly position: FeedPosition | undefined },
): Promise<void> {
  await requireExpectedState(expected, {
    ...positions,
    areKnown: (some) => areKnown(transaction, some),
    hasCommit: (version) => hasCommit(transaction, version),
  })
}
