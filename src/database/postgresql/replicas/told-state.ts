import type { LoggedHead } from './log-probe.ts'
import type { LogTarget } from './replay-proof.ts'

/** State of the data that clients were told of: a server that lacks it would take them back in time. */
export class ToldState {
  /** The newest commit, with when it was heard of, and of which run of the primary. */
  #commit: { readonly head: LoggedHead; readonly at: number; readonly run: string | null } | null = null
  /** The newest time up to which all commits are known to be in it, in milliseconds of performance.now(). */
  #provenAt: number | null = null

  /** The newest commit that was told; null for none. */
  get head(): LoggedHead | null {
    return this.#commit?.head ?? null
  }

  /** The age of a server that has {@link head} is proved up to this time; null where there is none. */
  get provenAt(): number | null {
    return this.#provenAt
  }

  /**
   * Notes a commit that clients may be told of.
   * @param run run of the primary whose history it is of; null where that is not known
   */
  committed(version: string, run: string | null): void {
    const head = { seq: Number(version.slice(0, version.indexOf('.'))), version }
    this.#commit = { head, at: performance.now(), run }
  }

  /**
   * Notes a time that was proved.
   * @returns the newest one
   */
  proven(at: number | null): number | null {
    if (at !== null && (this.#provenAt === null || at > this.#provenAt)) this.#provenAt = at
    return this.#provenAt
  }

  /**
   * Forgets it all where a failover has lost the commit, so that no server can have it.
   * @param contains tells whether a commit is part of the primary's history; null where that is not known
   */
  async verify(
    target: LogTarget,
    contains: (commit: LoggedHead, target: LogTarget) => Promise<boolean | null>,
  ): Promise<void> {
    const commit = this.#commit
    // A primary that was asked before the commit was heard of may not have had it.
    if (commit === null || commit.at > target.at) return
    // The run that made it may not show it yet, but no other commit in its place.
    if (commit.run === target.run && commit.head.seq > target.head.seq) return
    if ((await contains(commit.head, target)) !== false) return
    this.#commit = null
    this.#provenAt = null
  }
}
