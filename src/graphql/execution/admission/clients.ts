/** Matches the name of an IPv6 /64 network, and its first 48 bits. */
const subnet = /^([\da-f]+:[\da-f]+:[\da-f]+):[\da-f]+::\/64$/

/**
 * Returns the client that a sender belongs to, which shares and turns count as one: of an IPv6 /64 the /48 around it, the
 * largest allocation of a subscriber (RFC 6177), in which one client may have many sender names; of any other sender, and of
 * a client, itself.
 */
export function clientOf(sender: string): string {
  const prefix = sender.endsWith('::/64') ? subnet.exec(sender)?.[1] : undefined
  return prefix === undefined ? sender : `${prefix}::/48`
}

/**
 * Returns how much of a capacity one client may hold: half of it if the others hold nothing, and a smaller part of what
 * they leave, the less that is. If each could hold half of what the others leave, 10 clients would take all of 1,000;
 * this way 44 leave 33 of it, and 77 take all.
 * @param max the whole capacity
 * @param left what the others leave of it
 */
export function fairShare(max: number, left: number): number {
  return left <= 0 ? 0 : Math.ceil((left * left) / (2 * max))
}

/** The cost of running work, in total and of each client. */
export class RunningCost {
  readonly #ofClients = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  /** Returns the cost of a client's running work. */
  of(client: string): number {
    return this.#ofClients.get(client) ?? 0
  }

  add(client: string, cost: number): void {
    this.#total += cost
    this.#ofClients.set(client, this.of(client) + cost)
  }

  remove(client: string, cost: number): void {
    this.#total -= cost
    const left = this.of(client) - cost
    if (left > 0) this.#ofClients.set(client, left)
    else this.#ofClients.delete(client)
  }
}
