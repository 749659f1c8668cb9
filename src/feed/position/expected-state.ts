import { type FeedPosition, isSamePosition } from '../../database/write/feed.ts'
import type { Fact } from '../fact/fact.ts'
import type { ParsedLine, LineOutcome } from '../projector/line-outcome.ts'

/** The database no longer contains all applied facts of a feed, for example after a failover to a lagging replica. */
export class CommitsLost extends Error {
  constructor(
    /** Stored position of the feed; null where there is none. */
    readonly stored: FeedPosition | null,
  ) {
    super('The database no longer holds what was applied of the feed.')
    this.name = 'CommitsLost'
  }
}

/** State of a run before a batch, to detect lost commits. */
export interface ExpectedState {
  /** The stored position at which the run started its source; undefined where it started at the beginning. */
  readonly startsAfter: FeedPosition | undefined
  /** The last position that the run saw; undefined where no position covers everything that was applied. */
  readonly lastPosition: FeedPosition | null | undefined
  /** The facts of the last batch that applied or skipped any, which a loss affects first; empty at the start of a run. */
  readonly factsKnownLast: readonly Fact[]
  /**
   * The facts of the last batch with new facts, without known ones: only these prove that the newest commits are
   * present.
   */
  readonly factsAppliedLast: readonly Fact[]
  /**
   * Version of a commit that proves the facts known last: the last one of parallel writers, or the newest one when known facts were
   * skipped; absent where `factsAppliedLast` has facts of a later commit, which proves it.
   */
  readonly versionOfKnown?: string
  /**
   * Version of the newest commit when the run relied last on facts that no position of its own proves, because another feed may have
   * applied them: those that its source leaves out by the progress of vaults, and known ones that did not move the position. Absent
   * where there are none, and where a later commit proves them.
   */
  readonly versionOfUncovered?: string
}

/** The commits that a state names. */
export type ProvingVersions = Pick<ExpectedState, 'versionOfKnown' | 'versionOfUncovered'>

/** Returns whether a run has applied or skipped facts, which a loss could affect. */
export function hasKnown({ factsKnownLast, versionOfKnown }: ExpectedState): boolean {
  return factsKnownLast.length > 0 || versionOfKnown !== undefined
}

/** Returns whether a run has applied or skipped facts that no position covers. Bad lines after them do not change that. */
export function isUncovered(expected: ExpectedState | undefined): boolean {
  return expected !== undefined && hasKnown(expected) && expected.lastPosition === undefined
}

/**
 * Returns the position in the database, as a run knows it. Where it has applied facts that no position covers, that is the one from
 * when its source was opened.
 * @param handledPart of the source
 */
export function knownPosition(
  expected: ExpectedState,
  handledPart: { readonly storedBefore: FeedPosition | null } | undefined,
): FeedPosition | null | undefined {
  return isUncovered(expected) ? handledPart?.storedBefore : expected.lastPosition
}

/**
 * Returns whether a loss could affect a run. A run that started at the beginning of its source, left nothing out and found only
 * bad lines has nothing to lose, wherever another run of the feed moves the position.
 */
export function mayLose(expected: ExpectedState): boolean {
  return expected.versionOfUncovered !== undefined || mayLosePosition(expected)
}

function mayLosePosition(expected: ExpectedState): boolean {
  return expected.startsAfter !== undefined || hasKnown(expected)
}

/** The position of a feed after a batch, and the commits that prove what the batch skipped. */
export interface ReachedState {
  /** Undefined where facts were applied that the stored position does not cover. */
  readonly lastPosition: ExpectedState['lastPosition']
  /** Empty where the last attempt of the batch has applied facts, or knew none. */
  readonly versions: ProvingVersions
}

/** Returns the state of a run after a batch. */
export function advanceState(
  expected: ExpectedState,
  { lastPosition, versions }: ReachedState,
  batch: readonly ParsedLine[],
  outcomes: readonly LineOutcome[],
): ExpectedState {
  const factsOf = (among: readonly LineOutcome['status'][]): Fact[] =>
    outcomes.flatMap(({ status }, at) => {
      const line = batch[at]
      return line !== undefined && 'fact' in line && among.includes(status) ? [line.fact] : []
    })
  const [known, applied] = [factsOf(['applied', 'skipped']), factsOf(['applied'])]
  return {
    startsAfter: expected.startsAfter,
    lastPosition,
    factsKnownLast: known.length > 0 ? known : expected.factsKnownLast,
    factsAppliedLast: applied.length > 0 ? applied : expected.factsAppliedLast,
    // Facts that an earlier attempt has applied are known to the last one.
    ...(applied.length === 0 && versions.versionOfKnown === undefined ? versionsOf(expected) : versions),
  }
}

/** Returns the commits that a state names, without keys for those that it does not. */
function versionsOf({ versionOfKnown, versionOfUncovered }: ProvingVersions): ProvingVersions {
  return {
    ...(versionOfKnown !== undefined && { versionOfKnown }),
    ...(versionOfUncovered !== undefined && { versionOfUncovered }),
  }
}

/** Returns a state whose commits were found, with a newer commit in place of each. */
export function provenBy(expected: ExpectedState, version: string): ExpectedState {
  const { versionOfKnown, versionOfUncovered } = expected
  const newest = {
    ...(versionOfKnown !== undefined && { versionOfKnown: version }),
    ...(versionOfUncovered !== undefined && { versionOfUncovered: version }),
  }
  return { ...expected, ...newest }
}

/**
 * Returns the commits that prove what lines were compared with.
 * @param version of the newest commit; null where there is none
 * @param isProved whether the position was moved behind these lines, to where it never was, so that it proves them too
 */
export function versionsAfterKnown(version: string | null, isProved: boolean): ProvingVersions {
  if (version === null) return {}
  return isProved ? { versionOfKnown: version } : { versionOfKnown: version, versionOfUncovered: version }
}

interface StoredState {
  /** The position in the database, locked. */
  readonly stored: FeedPosition | null
  /** The position after the batch. */
  readonly position: FeedPosition | undefined
  /** Returns whether the read model contains all of these facts. */
  readonly areKnown: (facts: readonly Fact[]) => Promise<boolean>
  /** Returns whether the history of the database contains a commit. */
  readonly hasCommit: (version: string) => Promise<boolean>
}

/**
 * Verifies that the database still contains everything that the run has applied. A different position is acceptable
 * where an earlier attempt of the same batch was committed without a response, or another run moved it: a server that
 * has the facts known last and applied last has all earlier commits.
 * @throws {CommitsLost} when commits are lost
 */
export async function requireExpectedState(
  expected: ExpectedState | undefined,
  { stored, position, areKnown, hasCommit }: StoredState,
): Promise<void> {
  if (expected === undefined) return
  const { lastPosition, versionOfKnown, versionOfUncovered } = expected
  if (versionOfUncovered !== undefined && !(await hasCommit(versionOfUncovered))) throw new CommitsLost(stored)
  if (!mayLosePosition(expected)) return
  const evidence = [...new Set([...expected.factsAppliedLast, ...expected.factsKnownLast])]
  const reached = [lastPosition, position].filter((one) => one !== undefined)
  // Where no position covers the facts known last, several batches have one position, which proves none of them.
  if (lastPosition !== undefined && reached.some((one) => isSamePosition(stored, one))) return
  const isProvable = evidence.length > 0 || versionOfKnown !== undefined
  const isThere =
    (evidence.length === 0 || (await areKnown(evidence))) &&
    (versionOfKnown === undefined || (await hasCommit(versionOfKnown)))
  if (!isProvable || !isThere) throw new CommitsLost(stored)
}

/**
 * Returns whether a batch stores its position. A run that starts before the stored position skips known facts and does
 * not move it; new facts there mean that the feed has other contents, whose position counts from then on. At the stored
 * offset, a different fingerprint means that bytes before it have changed: the new fingerprint is stored.
 * @param handledEnd end of the lines of the source that were handled before, in bytes; 0 where that is unknown. A position before it
 *   is not stored, though facts that were set aside may be applied there; one from there on is, also where the stored position is
 *   in the file before, which may be longer
 */
export function movesPosition(
  stored: FeedPosition | null,
  position: FeedPosition,
  hasApplied: boolean,
  handledEnd = 0,
): boolean {
  if (isSamePosition(stored, position)) return false
  if (handledEnd > 0) return position.byte >= handledEnd
  return stored === null || hasApplied || position.byte >= stored.byte
}
