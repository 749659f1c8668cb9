/**
 * A capacity shared by senders, each of which may take at most half of what the others leave, so that a few cannot lock
 * out the others: one may take a half, a second one then a quarter.
 */
export class Budget {
  readonly most: number
  #taken = 0
  /** Amount taken by each sender that holds any. */
  readonly #takenBy = new Map<string, number>()

  constructor(most: number) {
    this.most = most
  }

  /**
   * Takes an amount for a sender.
   * @returns false, with nothing taken, if the amount exceeds the sender's share
   */
  take(sender: string, amount: number): boolean {
    const before = this.#takenBy.get(sender) ?? 0
    const ofSender = before + amount
    const left = this.most - (this.#taken - before)
    if (ofSender > Math.ceil(left / 2)) return false
    this.#taken += amount
    this.#takenBy.set(sender, ofSender)
    return true
  }

  giveBack(sender: string, amount: number): void {
    this.#taken -= amount
    const ofSender = (this.#takenBy.get(sender) ?? 0) - amount
    if (ofSender > 0) this.#takenBy.set(sender, ofSender)
    else this.#takenBy.delete(sender)
  }
}
