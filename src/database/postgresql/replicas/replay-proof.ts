import type { LoggedHead } from './log-probe.ts'

/** Position of the primary in the write-ahead log, with its newest commit. */
export interface LogTarget {
  /** Time before the primary was polled, in milliseconds of performance.now(). */
  readonly at: number
  /** End of the newest record that was written. */
  readonly lsn: bigint
  /** End of the newest record, written or not. */
  readonly insertLsn: bigint
  /** The newest commit at that position, or one before it. */
  readonly head: LoggedHead
  /** The run of the primary that reported the position. A run loses no commit: only another run can lack one. */
  readonly run: string
}

/** Maximum number of pending positions; beyond it the newest one replaces the previous one. */
const maxTargets = 1_000

/**
 * Proves how old the data of a replica is, without comparing clocks: once the replica has replayed the position that the
 * primary reported, and has the primary's newest commit, its data is no older than the time before that poll of the primary.
 */
export class ReplayProof {
  #targets: LogTarget[] = []
  #newest: { readonly at: number; readonly seenAt: number } | null = null
  /** The previously proved time, for statements that were sent before the newest proof. */
  #before: number | null = null

  /** Time up to which all commits are replayed, in milliseconds of performance.now(); null before the first proof. */
  get provenAt(): number | null {
    return this.#newest?.at ?? null
  }

  expect(target: LogTarget): void {
    if (this.#targets.length >= maxTargets) this.#targets.pop()
    this.#targets.push(target)
  }

  /** Returns the newest pending position that a replica which has replayed up to `lsn` has reached; null where there is none. */
  reachedBy(lsn: bigint): LogTarget | null {
    return this.#targets.filter((target) => target.lsn <= lsn).at(-1) ?? null
  }

  /**
   * Records that the replica has reached a position, with its newest commit.
   * @param now time of the replica's answer, in milliseconds of performance.now()
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

  /** Removes the pending positions: the primary's log may have diverged. */
  forgetTargets(): void {
    this.#targets = []
  }

  /** Removes all proofs: another server may have taken the address. */
  reset(): void {
    this.forgetTargets()
    this.#newest = null
    this.#before = null
  }
}
