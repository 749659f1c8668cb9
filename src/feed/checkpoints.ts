import { type FeedPosition, isSamePosition } from '../database/write/feed.ts'
import type { SeenPosition } from './position/expected-state.ts'
import type { Summary } from './summary.ts'

/** Counts of a run at a committed position. */
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

/** The newest checkpoints of a run, to which a failover may reset it. */
export class Checkpoints {
  #newest: { readonly position: FeedPosition; readonly checkpoint: Checkpoint }[] = []

  /** Adds a checkpoint; without effect where no position covers everything that was applied. */
  add(position: SeenPosition, { summary, ...rest }: Checkpoint): void {
    if (position == null) return
    if (this.#newest.length >= maxCheckpoints) this.#newest = this.#newest.slice(maxCheckpoints / 2)
    const { line, fingerprint } = position
    const at = 'block' in position ? { block: position.block } : { byte: position.byte }
    // A copy, because a position whose fingerprint is not computed yet retains a whole chunk of lines.
    this.#newest.push({
      position: { line, ...at, fingerprint },
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
