/** What an answer is made from, and a batch of facts changes: a vault, by its address, or one of the other origins. */
export type CacheTag = string

/** A committed batch of facts. */
export interface Commit {
  /** `seq.mark`: its number, and a random mark that tells it from one of the same number in another history. */
  readonly version: string
  /** Time of the newest fact in the read model after it, in Unix seconds. */
  readonly newestTs: number | null
  /** What it changed. */
  readonly tags: readonly CacheTag[]
}

export interface ChangeListener {
  /** Is told of each commit in order, once; first of the newest there is (with no tags) each time it begins to listen. */
  committed(commit: Commit): void
  /** Is told whether commits are heard of: what happens while it isn't, it never learns. */
  listening(isListening: boolean): void
  /** The log was read to its end by a poll that was sent at this time (performance.now() milliseconds). */
  upToDate(sentAtMilliseconds: number): void
}

/** Ends the listening. */
export type StopListening = () => Promise<void>
