import { type FeedPosition, isSamePosition } from '../database/write/feed.ts'
import type { Fact } from './fact/fact.ts'
import type { BatchLine, LineOutcome } from './projector/line-outcome.ts'

/** The database no longer contains what was applied of a feed, for example after a failover to a lagging replica. */
export class CommitsLost extends Error {
  constructor(
    /** Position of the feed in the database; null where nothing of it is there. */
    readonly stored: FeedPosition | null,
  ) {
    super('The database no longer holds what was applied of the feed.')
    this.name = 'CommitsLost'
  }
}

/** State of a run before a batch, to detect lost commits. */
export interface ExpectedState {
  /** The position at which the run began its source; undefined at its beginning. */
  readonly startsAfter: FeedPosition | null | undefined
  /** The last position that the run saw; undefined where no position covers everything that was processed. */
  readonly seen: FeedPosition | null | undefined
  /** The facts that were processed last, which a loss affects first; empty at the start of a run. */
  readonly handled: readonly Fact[]
  /**
   * The facts of the last batch with new facts, without known ones: only these prove that the newest commits are
   * present.
   */
  readonly newest: readonly Fact[]
  /** Version of the last commit of writers side by side; absent where `newest` are of a later one, which proves it too. */
  readonly version?: string
}

/** Tells whether a run has processed facts that a loss could affect. */
export function hasHandled({ handled, version }: ExpectedState): boolean {
  return handled.length > 0 || version !== undefined
}

/**
 * Tells whether a loss could affect a run. One that began at the beginning of its source and has found only bad lines has
 * nothing to lose, wherever another run of the feed moves the position.
 */
export function mayLose(expected: ExpectedState): boolean {
  return expected.startsAfter !== undefined || hasHandled(expected)
}

/**
 * Returns the state of a run after a batch.
 * @param seen position of the feed after the batch
 */
export function advanceState(
  expected: ExpectedState,
  seen: ExpectedState['seen'],
  batch: readonly BatchLine[],
  outcomes: readonly LineOutcome[],
): ExpectedState {
  const factsOf = (among: readonly LineOutcome['status'][]): Fact[] =>
    outcomes.flatMap(({ status }, at) => {
      const line = batch[at]
      return line !== undefined && 'fact' in line && among.includes(status) ? [line.fact] : []
    })
  const [handled, newest] = [factsOf(['applied', 'skipped']), factsOf(['applied'])]
  return {
    startsAfter: expected.startsAfter,
    seen,
    handled: handled.length > 0 ? handled : expected.handled,
    newest: newest.length > 0 ? newest : expected.newest,
    ...(newest.length === 0 && expected.version !== undefined && { version: expected.version }),
  }
}

interface StoredState {
  /** The position in the database, locked. */
  readonly stored: FeedPosition | null
  /** The position after the batch. */
  readonly position: FeedPosition | undefined
  /** Tells whether the read model contains all of these facts. */
  readonly areKnown: (facts: readonly Fact[]) => Promise<boolean>
  /** Tells whether the history of the database contains a commit. */
  readonly hasCommit: (version: string) => Promise<boolean>
}

/**
 * Verifies that the database still contains everything that the run has applied. A different position is acceptable
 * where an earlier attempt of the same batch was committed without a response, or another run moved it: a server that
 * has the facts processed last and applied last has all earlier commits.
 * @throws {CommitsLost} when commits are lost
 */
export async function requireExpectedState(
  expected: ExpectedState | undefined,
  { stored, position, areKnown, hasCommit }: StoredState,
): Promise<void> {
  if (expected === undefined || !mayLose(expected)) return
  const { seen, version } = expected
  const handled = [...new Set([...expected.newest, ...expected.handled])]
  const reached = [seen, position].filter((one) => one !== undefined)
  // Where no position covers the facts processed last, several batches have one position, which proves none of them.
  if (seen !== undefined && reached.some((one) => isSamePosition(stored, one))) return
  const isProvable = handled.length > 0 || version !== undefined
  const isThere =
    (handled.length === 0 || (await areKnown(handled))) && (version === undefined || (await hasCommit(version)))
  if (!isProvable || !isThere) throw new CommitsLost(stored)
}

/**
 * Tells whether a batch stores its position. A run that starts at the beginning of a feed that was applied further
 * skips known facts and keeps the position; new facts there mean that the feed has other contents, whose position
 * counts from then on. At the stored place, bytes before it have changed: the position is stored with their digest.
 */
export function movesPosition(stored: FeedPosition | null, position: FeedPosition, hasApplied: boolean): boolean {
  if (isSamePosition(stored, position)) return false
  return stored === null || hasApplied || position.byte >= stored.byte
}
