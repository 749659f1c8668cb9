import type { LoggedHead } from './log-probe.ts'

/** Position of the primary in the write-ahead log, with what was committed then. */
export interface LogTarget {
  /** Before the primary was asked, in milliseconds of performance.now(). */
  readonly at: number
  /** End of the newest record that was written. */
  readonly lsn: bigint
  /** End of the newest record, written or not. */
  readonly insertLsn: bigint
  /** The newest commit at that position, or one before it. */
  readonly head: LoggedHead
  /** The run of the primary that told it. While it lasts, no commit is lost: only another run can lack one. */
  readonly run: string
}

/** Maximum number of positions that are waited for; beyond it the newest one replaces the one before. */
const mostTargets = 1_000

/**
 * Proves how old the data of a replica is, without comparing clocks: once it has replayed the position that the primary
 * had written when it was asked, and has its newest commit, its data is no older than the time at which this process asked.
 */
export class ReplayProof {
  #targets: LogTarget[] = []
  #newest: { readonly at: number; readonly seenAt: number } | null = null
  /** The newest time that was proved before, for polls that were sent before the newest one was seen. */
  #before: number | null = null

  /** Time up to which all commits are replayed, in milliseconds of performance.now(); null before the first proof. */
  get provenAt(): number | null {
    return this.#newest?.at ?? null
  }

  expect(target: LogTarget): void {
    if (this.#targets.length >= mostTargets) this.#targets.pop()
    this.#targets.push(target)
  }

  /** Returns the newest position that a replica has reached which has replayed up to this; null where it reached none. */
  reachedBy(lsn: bigint): LogTarget | null {
    return this.#targets.filter((target) => target.lsn <= lsn).at(-1) ?? null
  }

  /**
   * Notes that the replica has reached a position, with its newest commit.
   * @param now when its answer had come, in milliseconds of performance.now()
   */
  prove(reached: LogTarget, now: number): void {
    this.#targets = this.#targets.filter(({ at }) => at > reached.at)
    this.#before = this.provenAt
    this.#newest = { at: reached.at, seenAt: now }
  }

  /** Returns the time that was proved when a statement was sent to the replica; null if none was. */
  provenBefore(sentAt: number): number | null {
    if (this.#newest === null) return null
    return this.#newest.seenAt <= sentAt ? this.#newest.at : this.#before
  }

  /** Waits for no position any more: the primary's log may have gone another way. */
  forgetTargets(): void {
    this.#targets = []
  }

  /** Proves nothing any more: another server may have taken the address. */
  reset(): void {
    this.forgetTargets()
    this.#newest = null
    this.#before = null
  }
}
