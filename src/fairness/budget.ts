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

/** Amounts that clients hold: of each, and in total. */
export class AmountsByClient {
  /** All amounts together; only this class writes it. */
  total = 0
  readonly #amounts = new Map<string, number>()

  /** Returns the amount that the client of a sender holds. */
  of(sender: string): number {
    return this.#amounts.get(clientOf(sender)) ?? 0
  }

  /** Adds an amount to those of a sender's client; a negative one is subtracted. */
  add(sender: string, amount: number): void {
    const client = clientOf(sender)
    const sum = (this.#amounts.get(client) ?? 0) + amount
    this.total += amount
    if (sum > 0) this.#amounts.set(client, sum)
    else this.#amounts.delete(client)
  }
}

/**
 * A capacity shared by clients, each of which may take at most a {@link fairShare} of what the others leave, so that
 * dozens cannot lock out the others. The first may take a half, the second then an eighth.
 */
export class Budget extends AmountsByClient {
  constructor(readonly max: number) {
    super()
  }

  /** Returns whether an amount is within the share of a sender's client. */
  hasRoom(sender: string, amount: number): boolean {
    const taken = this.of(sender)
    return taken + amount <= fairShare(this.max, this.max - (this.total - taken))
  }

  /**
   * Takes an amount for a sender.
   * @returns false, with nothing taken, if the amount exceeds the client's share
   */
  take(sender: string, amount: number): boolean {
    if (!this.hasRoom(sender, amount)) return false
    this.add(sender, amount)
    return true
  }

  giveBack(sender: string, amount: number): void {
    this.add(sender, -amount)
  }
}
