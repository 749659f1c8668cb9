import { type FeedPosition, isSamePosition } from '../database/write/feed.ts'
import type { FactKind } from './fact/fact.ts'

/** Counts by kind; a line that is no fact has none. */
export type Tally = Partial<Record<FactKind | 'unreadable', number>>

export interface Summary {
  readonly applied: Tally
  readonly skipped: Tally
  readonly rejected: Tally
}

/** What a run had done when it committed a position. */
export interface Checkpoint {
  /** The last line that it had handled. */
  readonly line: number
  readonly summary: Summary
  /** Bytes of rejects that it had set aside. */
  readonly rejectBytes: number
}

/** A lagging replica lacks the newest seconds of batches; each takes some hundred bytes here. */
const mostKept = 10_000

export function emptySummary(): Summary {
  return { applied: {}, skipped: {}, rejected: {} }
}

/** The newest checkpoints of a run, to which a failover can take it back. */
export class Checkpoints {
  #kept: { readonly position: FeedPosition; readonly checkpoint: Checkpoint }[] = []

  /** @param position undefined where none was committed that tells of all that is done */
  add(position: FeedPosition | null | undefined, { summary, ...rest }: Checkpoint): void {
    if (position == null) return
    if (this.#kept.length >= mostKept) this.#kept = this.#kept.slice(mostKept / 2)
    this.#kept.push({ position, checkpoint: { ...rest, summary: structuredClone(summary) } })
  }

  /**
   * Forgets all that was committed after a position.
   * @returns null where the run has no checkpoint there, or had not handled all lines before it
   */
  backTo(position: FeedPosition | null): Checkpoint | null {
    const at = this.#kept.findLastIndex((one) => isSamePosition(one.position, position))
    this.#kept = this.#kept.slice(0, at + 1)
    const found = this.#kept[at]?.checkpoint
    if (found === undefined || found.line < (position?.line ?? 0)) return null
    return { ...found, summary: structuredClone(found.summary) }
  }
}
