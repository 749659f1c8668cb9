import { LRUCache } from 'lru-cache'
import { clientOf } from './budget.ts'
import { MaxHeap } from './max-heap.ts'

/** Time since its last use after which an entry is evicted for any client: data that is in use is read every minute. */
export const idleMilliseconds = 60_000

/** An entry, linked to its neighbours in the order in which those of its owner were used. */
interface Entry<Value> {
  readonly key: string
  readonly value: Value
  readonly bytes: number
  owner: Owner<Value>
  /** The sender that stored it, or that its owner has it from. */
  sender: string
  /** The last other sender that used it; null if there is none. */
  otherUser: string | null
  /** In milliseconds of performance.now(). */
  usedAt: number
  older: Entry<Value> | null
  newer: Entry<Value> | null
}

/**
 * An LRU cache with a limit on its bytes, fair to clients, see {@link clientOf}. When it is full, entries that are idle are
 * evicted first, then those of the client with the most bytes, each time the least recently used one. Bytes are charged to
 * the client that stored them; an entry that its owner would lose passes to the last other client that used it. Every
 * operation takes at most logarithmic time in the number of clients, for each entry that it evicts or passes on.
 * @see https://en.wikipedia.org/wiki/Max-min_fairness
 */
export class FairCache<Value> {
  readonly #maxBytes: number
  readonly #entries: LRUCache<string, Entry<Value>>
  /** Clients with entries, by name. */
  readonly #owners = new Map<string, Owner<Value>>()
  #bytesOf = new MaxHeap<Owner<Value>>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#entries = new LRUCache({ maxSize: Math.max(1, maxBytes) })
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#entries.calculatedSize
  }

  /** Returns the value with a key, which a sender uses. */
  get(key: string, sender: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (sender !== entry.sender) entry.otherUser = sender
    entry.usedAt = performance.now()
    entry.owner.remove(entry)
    entry.owner.add(entry)
    return entry.value
  }

  /** Stores a value for a sender, unless it has more bytes than the other clients leave. */
  set(key: string, value: Value, bytes: number, sender: string): void {
    this.delete(key)
    if (bytes > this.#maxBytes) return
    const owner = this.#ownerOf(sender)
    const usedAt = performance.now()
    const entry = { key, value, bytes, owner, sender, otherUser: null, usedAt, older: null, newer: null }
    this.#charge(entry)
    while (this.bytes + bytes > this.#maxBytes) if (this.#makeRoom() === entry) return
    this.#entries.set(key, entry, { size: bytes })
  }

  /** Changes the bytes of a value, if it is still cached with this key: it is stored again for the same client. */
  resize(key: string, value: Value, bytes: number): void {
    const entry = this.#entries.peek(key)
    if (entry?.value === value) this.set(key, value, bytes, entry.sender)
  }

  /**
   * Removes an entry.
   * @returns its value, with the sender whose client it was charged to; undefined if there is none
   */
  delete(key: string): Pick<Entry<Value>, 'value' | 'sender'> | undefined {
    const entry = this.#entries.peek(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#release(entry)
    return entry
  }

  clear(): void {
    this.#entries.clear()
    this.#owners.clear()
    this.#bytesOf = new MaxHeap()
  }

  /** Evicts an entry, or passes it on; returns it. */
  #makeRoom(): Entry<Value> | null {
    const oldest = this.#entries.rvalues().next().value
    const isIdle = oldest !== undefined && performance.now() - oldest.usedAt >= idleMilliseconds
    const entry = isIdle ? oldest : (this.#bytesOf.heaviest?.key.oldest ?? null)
    if (entry === null) return null
    const { owner, otherUser } = entry
    this.#release(entry)
    if (isIdle || otherUser === null || clientOf(otherUser) === owner.client) this.#entries.delete(entry.key)
    else {
      entry.owner = this.#ownerOf(otherUser)
      entry.sender = otherUser
      entry.otherUser = null
      this.#charge(entry)
    }
    return entry
  }

  #ownerOf(sender: string): Owner<Value> {
    const client = clientOf(sender)
    return this.#owners.get(client) ?? new Owner<Value>(client)
  }

  /** Adds an entry to its owner, whose newest it is. */
  #charge(entry: Entry<Value>): void {
    const { owner, bytes } = entry
    owner.add(entry)
    this.#owners.set(owner.client, owner)
    this.#bytesOf.set(owner, (this.#bytesOf.weightOf(owner) ?? 0) + bytes)
  }

  /** Takes an entry from its owner, which is forgotten if it was the last one. */
  #release(entry: Entry<Value>): void {
    const { owner, bytes } = entry
    owner.remove(entry)
    if (owner.oldest !== null) return this.#bytesOf.set(owner, (this.#bytesOf.weightOf(owner) ?? 0) - bytes)
    this.#owners.delete(owner.client)
    this.#bytesOf.delete(owner)
  }
}

/** A client with entries, in the order of their last use: a list, as a Map finds its first key slowly after deletions. */
class Owner<Value> {
  oldest: Entry<Value> | null = null
  #newest: Entry<Value> | null = null

  constructor(readonly client: string) {}

  /** Adds an entry as the newest. */
  add(entry: Entry<Value>): void {
    entry.older = this.#newest
    entry.newer = null
    if (entry.older === null) this.oldest = entry
    else entry.older.newer = entry
    this.#newest = entry
  }

  remove({ older, newer }: Entry<Value>): void {
    if (older === null) this.oldest = newer
    else older.newer = newer
    if (newer === null) this.#newest = older
    else newer.older = older
  }
}
