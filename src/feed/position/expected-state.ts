import { type FeedPosition, isSamePosition, type LockedPosition, offsetOf } from '../../database/write/feed.ts'

/** The database no longer contains all applied facts of a feed, for example after a failover to a lagging replica. */
export class CommitsLost extends Error {
  constructor(
    /** Stored position of the feed; null where there is none. */
    readonly stored: LockedPosition | null,
  ) {
    super('The database no longer holds what was applied of the feed.')
    this.name = 'CommitsLost'
  }
}

/**
 * The last position that a run saw in the database: null where it saw that there was none, and undefined where it saw none, or has
 * applied facts since that the position does not cover.
 */
export type SeenPosition = FeedPosition | null | undefined

/** State of a run before a batch, to detect lost commits. */
export interface ExpectedState {
  /** The stored position at which the run started its source; undefined where it started at the beginning. */
  readonly startsAfter: FeedPosition | undefined
  readonly lastPosition: SeenPosition
  /**
   * Version of a commit whose history contains all facts that the run has applied, skipped as known, or left out as applied; null
   * where there are none yet.
   */
  readonly version: string | null
}

/** Returns whether a run relies on facts that no position covers. Bad lines after them do not change that. */
export function isUncovered(expected: ExpectedState | undefined): boolean {
  return expected !== undefined && expected.version !== null && expected.lastPosition === undefined
}

/**
 * Returns the position in the database, as a run knows it. Where it has applied facts that no position covers, that is the one from
 * when its source was opened.
 * @param handledPrefix of the source
 */
export function knownPosition(
  expected: ExpectedState,
  handledPrefix: { readonly storedBefore: FeedPosition | null } | undefined,
): SeenPosition {
  return isUncovered(expected) ? handledPrefix?.storedBefore : expected.lastPosition
}

/**
 * Returns whether a batch stores its position. A run that starts before the stored position skips known facts and does
 * not move it; new facts there mean that the feed has other contents, whose position counts from then on. At the stored
 * offset, a different fingerprint means that bytes before it have changed: the new fingerprint is stored.
 * @param handledEnd end of the lines that are proven to be handled, in bytes; 0 where none is. A position before it is not
 *   stored, though facts that were set aside may be applied there; one from there on is, also where the stored position is
 *   in the file before, which may be longer
 */
export function movesPosition(
  stored: FeedPosition | null,
  position: FeedPosition,
  hasApplied: boolean,
  handledEnd = 0,
): boolean {
  if (isSamePosition(stored, position)) return false
  if (handledEnd > 0) return offsetOf(position) >= handledEnd
  return stored === null || hasApplied || offsetOf(position) >= offsetOf(stored)
}
