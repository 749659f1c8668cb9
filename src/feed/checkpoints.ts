import { type FeedPosition, isSamePosition } from '../database/write/feed.ts'
import type { FactKind } from './fact/fact.ts'
import type { LineOutcome } from './projector/line-outcome.ts'
import type { Line } from './reading/lines.ts'

/** Number of lines by kind of fact; lines that are not facts have no kind. */
export type Tally = Partial<Record<FactKind | 'unreadable', number>>

/** Result of a run: how many lines were applied, skipped as known, and rejected. */
export interface Summary {
  readonly applied: Tally
  readonly skipped: Tally
  readonly rejected: Tally
}

/** Progress of a run at a committed position. */
export interface Checkpoint {
  /** Number of the last processed line. */
  readonly line: number
  readonly summary: Summary
}

/**
 * Maximum number of checkpoints, of some hundred bytes each: a lagging replica lacks at most the last seconds of
 * batches.
 */
const maxCheckpoints = 10_000

/** Returns a summary without any lines. */
export function emptySummary(): Summary {
  return { applied: {}, skipped: {}, rejected: {} }
}

/**
 * Counts outcomes of lines.
 * @param countedAfter the last line that was counted before
 * @param outcomes by index of the line; undefined for a line without one
 */
export function countOutcomes(
  { summary, countedAfter }: { readonly summary: Summary; readonly countedAfter: number },
  lines: readonly Pick<Line, 'number'>[],
  outcomes: readonly (LineOutcome | undefined)[],
): void {
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome === undefined || (lines[at]?.number ?? 0) <= countedAfter) continue
    const tally = summary[outcome.status]
    const kind = outcome.kind ?? 'unreadable'
    tally[kind] = (tally[kind] ?? 0) + 1
  }
}

/** The newest checkpoints of a run, to which a failover may reset it. */
export class Checkpoints {
  #newest: { readonly position: FeedPosition; readonly checkpoint: Checkpoint }[] = []

  /**
   * Adds a checkpoint.
   * @param position undefined where the stored position does not cover everything that was applied
   */
  add(position: FeedPosition | null | undefined, { summary, ...rest }: Checkpoint): void {
    if (position == null) return
    if (this.#newest.length >= maxCheckpoints) this.#newest = this.#newest.slice(maxCheckpoints / 2)
    const { line, byte, fingerprint } = position
    // A copy: a position that was never stored keeps the bytes of its lines.
    this.#newest.push({
      position: { line, byte, fingerprint },
      checkpoint: { ...rest, summary: structuredClone(summary) },
    })
  }

  /**
   * Removes all checkpoints after a position.
   * @returns the checkpoint at the position; null where there is none, or the run had not processed all lines before it
   */
  backTo(position: FeedPosition | null): Checkpoint | null {
    const at = this.#newest.findLastIndex((one) => isSamePosition(one.position, position))
    this.#newest = this.#newest.slice(0, at + 1)
    const found = this.#newest[at]?.checkpoint
    if (found === undefined || found.line < (position?.line ?? 0)) return null
    return { ...found, summary: structuredClone(found.summary) }
  }
}
