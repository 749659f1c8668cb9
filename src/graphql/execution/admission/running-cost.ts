/** The cost of running work, in total and of each client: a network of senders, or a sender outside any network. */
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
