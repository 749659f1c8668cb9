import { seqOf } from '../../../domain/identity/data-version.ts'
import type { LoggedHead } from './log-probe.ts'
import type { LogTarget } from './replay-proof.ts'

/** The newest data that clients may have received: from a server that lacks it, they would receive older data. */
export class ReportedState {
  /** The newest commit, with the time of its notification and the run of the primary that created it. */
  #commit: { readonly head: LoggedHead; readonly at: number; readonly run: string | null } | null = null
  /** The newest time up to which all commits are known to be in it, in milliseconds of performance.now(). */
  #provenAt: number | null = null

  /** The newest commit reported to clients; null for none. */
  get head(): LoggedHead | null {
    return this.#commit?.head ?? null
  }

  /** Time up to which the data of a server that has {@link head} is proved to be complete; null where none is proved. */
  get provenAt(): number | null {
    return this.#provenAt
  }

  /**
   * Records a commit that is reported to clients.
   * @param run run of the primary whose history contains it; null where that is unknown
   */
  committed(version: string, run: string | null): void {
    const head = { seq: seqOf(version), version }
    this.#commit = { head, at: performance.now(), run }
  }

  /**
   * Records a proved time.
   * @returns the newest one
   */
  proven(at: number | null): number | null {
    if (at !== null && (this.#provenAt === null || at > this.#provenAt)) this.#provenAt = at
    return this.#provenAt
  }

  /**
   * Resets the state where a failover has lost the commit, so that no server can have it.
   * @param contains returns whether a commit is part of the primary's history; null where that is unknown
   */
  async verify(
    target: LogTarget,
    contains: (commit: LoggedHead, target: LogTarget) => Promise<boolean | null>,
  ): Promise<void> {
    const commit = this.#commit
    // A primary that was polled before the notification of the commit may not have had it.
    if (commit === null || commit.at > target.at) return
    // In the run that created it, the commit may not be visible yet, but no other commit can replace it.
    if (commit.run === target.run && commit.head.seq > target.head.seq) return
    if ((await contains(commit.head, target)) !== false) return
    this.#commit = null
    this.#provenAt = null
  }
}
