import { type FeedPosition, isSamePosition } from '../database/write/feed.ts'
import type { Fact } from './fact/fact.ts'
import type { BatchLine, LineOutcome } from './projector/line-outcome.ts'

/** What was applied of a feed is no longer there, as after a failover to a replica that lagged behind. */
export class FeedMoved extends Error {
  constructor(
    /** How far the feed is in the database; null where nothing of it is there. */
    readonly stored: FeedPosition | null,
  ) {
    super('The database no longer holds what was applied of the feed.')
    this.name = 'FeedMoved'
  }
}

/** What a run knows of its feed before a batch. */
export interface Before {
  /** The position that the run saw last; undefined where none tells that all it handled is applied. */
  readonly seen: FeedPosition | null | undefined
  /** The facts that the run handled last, which are the first to be missing; none where it has just begun. */
  readonly handled: readonly Fact[]
  /** The facts of the last batch that applied any, without those that were known: only they tell of the newest commits. */
  readonly applied: readonly Fact[]
}

/** Carries what a run knows of its feed past a batch. */
export function after(
  before: Before,
  seen: Before['seen'],
  batch: readonly BatchLine[],
  fates: readonly LineOutcome[],
): Before {
  const factsOf = (among: readonly LineOutcome['fate'][]): Fact[] =>
    fates.flatMap(({ fate }, at) => {
      const candidate = batch[at]
      return candidate !== undefined && 'fact' in candidate && among.includes(fate) ? [candidate.fact] : []
    })
  const [handled, applied] = [factsOf(['applied', 'skipped']), factsOf(['applied'])]
  return {
    seen,
    handled: handled.length > 0 ? handled : before.handled,
    applied: applied.length > 0 ? applied : before.applied,
  }
}

interface Found {
  /** The position in the database, locked. */
  readonly stored: FeedPosition | null
  /** Where the batch ends. */
  readonly position: FeedPosition | undefined
  /** Tells whether the read model holds all of these facts. */
  readonly areKnown: (facts: readonly Fact[]) => Promise<boolean>
}

/**
 * Compares the stored position with the one that the run saw last. Another one is no loss where an earlier try of the same
 * batch was committed without an answer, or another run has moved it: a server that has the facts that were handled last
 * and those that were applied last has all that was committed before them.
 * @throws {FeedMoved}
 */
export async function requireBefore(before: Before | undefined, { stored, position, areKnown }: Found): Promise<void> {
  if (before === undefined) return
  const { seen } = before
  const handled = [...new Set([...before.applied, ...before.handled])]
  if (seen === undefined && handled.length === 0) return
  if (seen !== undefined && isSamePosition(stored, seen)) return
  if (position !== undefined && isSamePosition(stored, position)) return
  if (handled.length > 0 && (await areKnown(handled))) return
  throw new FeedMoved(stored)
}

/**
 * Whether a batch writes its position. A run that starts at the beginning of a feed that is applied further skips what is
 * known, and leaves the position; facts that are new there are of another content, whose position it is from then on.
 */
export function movesPosition(stored: FeedPosition | null, position: FeedPosition, hasApplied: boolean): boolean {
  if (isSamePosition(stored, position)) return false
  return stored === null || hasApplied || position.byte > stored.byte
}
