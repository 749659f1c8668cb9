/** What an answer is made from, and a batch of facts changes: a vault, by its address, or one of the other origins. */
export type Source = string

export interface Watcher {
  /** Is told after each commit, in order. */
  changed(sources: readonly Source[]): void
  /** Is told whether it is told of changes: what happens while it isn't, it never learns. */
  listening(isListening: boolean): void
}

/** Ends the watch. */
export type StopWatching = () => Promise<void>
