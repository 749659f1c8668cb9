/**
 * A part of the read model that responses depend on and commits change: the address of a vault, or the name of another
 * dependency of reads.
 */
export type CacheTag = string

/** A committed batch of facts. */
export interface Commit {
  /**
   * `seq.nonce`: its sequence number, and a random nonce that distinguishes it from the same number in another history.
   */
  readonly version: string
  /** Time of the newest fact in the read model after the commit, in Unix seconds. */
  readonly newestTs: number | null
  /**
   * The parts of the read model that the commit changed; null in the first report of a connection, before which any part may
   * have changed.
   */
  readonly tags: readonly CacheTag[] | null
}

/** Receives commits, and the state of the connection that reports them. */
export interface ChangeListener {
  /**
   * Called for each commit in order, once. After each (re)connection it is first called for the newest commit, with
   * tags of null.
   */
  committed(commit: Commit): void
  /** Called when notifications start or stop. Commits in between are never reported. */
  listening(isListening: boolean): void
  /**
   * Called when a poll has read the log to its end.
   * @param sentAtMilliseconds time at which the poll was sent, in milliseconds of performance.now()
   */
  upToDate(sentAtMilliseconds: number): void
}

/** The commits of a server being reported to a listener. */
export interface CommitReports {
  /** Starts the next poll soon, where a read has shown that there is a commit that was not reported yet. */
  readonly pollSoon: () => void
  /** Ends the reports. */
  readonly stop: () => Promise<void>
}
