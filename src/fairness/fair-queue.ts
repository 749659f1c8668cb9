import { clientOf } from './budget.ts'

/** The entries of one client. */
interface Client<Entry> {
  /** The entries of each sender that has any; the next sender to serve comes first. */
  readonly senders: Map<string, Set<Entry>>
  /** Number of all entries. */
  size: number
}

/** An entry, and the sender who has queued it. */
export interface TakenEntry<Entry> {
  readonly sender: string
  readonly entry: Entry
}

type MayServe<Entry> = (client: string, next: Entry) => boolean

const always = (): boolean => true

/** Returns the first item of the greatest number; undefined if there is none. */
function maxBy<Item>(items: Iterable<Item>, numberOf: (item: Item) => number): Item | undefined {
  let greatest: Item | undefined
  let greatestNumber = -Infinity
  for (const item of items) if (numberOf(item) > greatestNumber) [greatest, greatestNumber] = [item, numberOf(item)]
  return greatest
}

/**
 * A queue that serves clients round-robin, see {@link clientOf}. The senders of a client are served round-robin too, the entries of a sender first in, first out. Adding, removing and taking
 * an entry take constant time.
 */
export class FairQueue<Entry> {
  /** Clients with entries, by name; the next client to serve comes first. */
  readonly #clients = new Map<string, Client<Entry>>()
  /** Number of all entries; only the queue writes it. */
  size = 0

  /** Returns the number of queued entries of a sender. */
  sizeOf(sender: string): number {
    return this.#entriesOf(sender)?.size ?? 0
  }

  /** Returns the number of queued entries of a sender's client. */
  sizeOfClient(sender: string): number {
    return this.#clients.get(clientOf(sender))?.size ?? 0
  }

  /** Returns the entry that a sender has queued the longest; undefined if it has none. */
  oldestOf(sender: string): Entry | undefined {
    return this.#entriesOf(sender)?.values().next().value
  }

  /**
   * Returns the sender with the most entries of the client with the most, in time linear to the number of clients;
   * undefined if the queue is empty.
   */
  largest(): string | undefined {
    const client = maxBy(this.#clients.values(), ({ size }) => size)
    const [sender] = maxBy(client?.senders ?? [], ([, { size }]) => size) ?? []
    return sender
  }

  add(sender: string, entry: Entry): void {
    const name = clientOf(sender)
    const client = this.#clients.get(name) ?? { senders: new Map<string, Set<Entry>>(), size: 0 }
    const entries = client.senders.get(sender) ?? new Set()
    this.#clients.set(name, client)
    client.senders.set(sender, entries.add(entry))
    client.size++
    this.size++
  }

  /**
   * Returns the next entry, in time linear to the number of clients that are passed over; undefined if there is none.
   * @param mayServe returns whether a client, by its name, may be served with its next entry; without it each may
   */
  peek(mayServe: MayServe<Entry> = always): Entry | undefined {
    return this.#next(mayServe)?.entry
  }

  /**
   * Removes and returns the next entry, and moves its sender, and its client, to the end. Clients that are passed over keep
   * their places.
   * @param mayServe as for `peek`
   * @returns undefined if there is none
   */
  take(mayServe: MayServe<Entry> = always): TakenEntry<Entry> | undefined {
    const next = this.#next(mayServe)
    if (next !== undefined) this.takeOf(next.sender)
    return next
  }

  /** Removes and returns the next entry of a sender, and moves the sender, and its client, to the end; undefined if it has none. */
  takeOf(sender: string): Entry | undefined {
    const name = clientOf(sender)
    const client = this.#clients.get(name)
    const entries = client?.senders.get(sender)
    if (client === undefined || entries === undefined) return undefined
    const entry = entries.values().next().value as Entry
    this.delete(sender, entry)
    // A map is iterated in the order of insertion.
    if (client.senders.delete(sender)) client.senders.set(sender, entries)
    if (this.#clients.delete(name)) this.#clients.set(name, client)
    return entry
  }

  /**
   * Removes a queued entry.
   * @returns whether it was there
   */
  delete(sender: string, entry: Entry): boolean {
    const name = clientOf(sender)
    const client = this.#clients.get(name)
    const entries = client?.senders.get(sender)
    if (client === undefined || entries?.delete(entry) !== true) return false
    this.size--
    client.size--
    if (entries.size === 0) client.senders.delete(sender)
    if (client.size === 0) this.#clients.delete(name)
    return true
  }

  #entriesOf(sender: string): Set<Entry> | undefined {
    return this.#clients.get(clientOf(sender))?.senders.get(sender)
  }

  #next(mayServe: MayServe<Entry>): TakenEntry<Entry> | undefined {
    for (const [name, { senders }] of this.#clients) {
      const [first] = senders
      const entry = first?.[1].values().next().value
      if (first !== undefined && entry !== undefined && mayServe(name, entry)) return { sender: first[0], entry }
    }
    return undefined
  }
}
