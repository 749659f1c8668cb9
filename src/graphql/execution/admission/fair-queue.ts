/**
 * A queue that serves its senders round-robin, the entries of each sender first in, first out. Adding, removing and
 * taking an entry take constant time, regardless of the queue's length.
 */
export class FairQueue<Entry> {
  /** The entries of each sender that has any; the next sender to serve comes first. */
  readonly #bySender = new Map<string, Set<Entry>>()
  /** Number of all entries, which only the queue changes. */
  size = 0

  /** Returns the number of queued entries of a sender. */
  sizeOf(sender: string): number {
    return this.#bySender.get(sender)?.size ?? 0
  }

  /** Returns the entry that a sender has queued the longest; undefined if it has none. */
  oldestOf(sender: string): Entry | undefined {
    return this.#bySender.get(sender)?.values().next().value
  }

  /** Returns the sender with the most entries, in time linear to the number of senders; undefined if there is none. */
  largest(): string | undefined {
    let largest: string | undefined
    let most = 0
    for (const [sender, { size }] of this.#bySender) {
      if (size > most) [largest, most] = [sender, size]
    }
    return largest
  }

  add(sender: string, entry: Entry): void {
    const entries = this.#bySender.get(sender) ?? new Set()
    this.#bySender.set(sender, entries.add(entry))
    this.size++
  }

  /** Returns the next entry; undefined if the queue is empty. */
  peek(): Entry | undefined {
    const [first] = this.#bySender
    return first?.[1].values().next().value
  }

  /** Removes and returns the next entry, and moves its sender to the end. */
  take(): Entry | undefined {
    const [sender] = this.#bySender.keys()
    return sender === undefined ? undefined : this.takeOf(sender)
  }

  /** Removes and returns the next entry of a sender, and moves the sender to the end. */
  takeOf(sender: string): Entry | undefined {
    const entries = this.#bySender.get(sender)
    if (entries === undefined) return undefined
    const entry = entries.values().next().value as Entry
    this.#bySender.delete(sender)
    entries.delete(entry)
    if (entries.size > 0) this.#bySender.set(sender, entries)
    this.size--
    return entry
  }

  /** Removes a queued entry. */
  delete(sender: string, entry: Entry): void {
    const entries = this.#bySender.get(sender)
    if (entries?.delete(entry) !== true) return
    this.size--
    if (entries.size === 0) this.#bySender.delete(sender)
  }
}
