/**
 * A queue that serves its senders in turn, each sender's entries first in, first out. Adding, removing and taking an entry
 * take constant time, however many wait.
 */
export class FairQueue<Entry> {
  /** The entries of each sender that has any; the sender whose turn it is comes first. */
  readonly #bySender = new Map<string, Set<Entry>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many entries of a sender wait. */
  sizeOf(sender: string): number {
    return this.#bySender.get(sender)?.size ?? 0
  }

  add(sender: string, entry: Entry): void {
    const entries = this.#bySender.get(sender) ?? new Set()
    this.#bySender.set(sender, entries.add(entry))
    this.#size++
  }

  /** The entry whose turn it is; undefined where none waits. */
  peek(): Entry | undefined {
    const [first] = this.#bySender
    return first?.[1].values().next().value
  }

  /** Takes the entry whose turn it is; then it is the next sender's turn. */
  take(): Entry | undefined {
    const [first] = this.#bySender
    if (first === undefined) return undefined
    const [sender, entries] = first
    const entry = entries.values().next().value as Entry
    this.#bySender.delete(sender)
    entries.delete(entry)
    if (entries.size > 0) this.#bySender.set(sender, entries)
    this.#size--
    return entry
  }

  /** Removes an entry that waits. */
  delete(sender: string, entry: Entry): void {
    const entries = this.#bySender.get(sender)
    if (entries?.delete(entry) !== true) return
    this.#size--
    if (entries.size === 0) this.#bySender.delete(sender)
  }
}
