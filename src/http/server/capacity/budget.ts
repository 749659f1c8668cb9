/** An amount that senders share, none of whom may take more than half of it, so that one cannot lock out all others. */
export class Budget {
  readonly most: number
  #taken = 0
  /** Of those who hold anything. */
  readonly #takenBy = new Map<string, number>()

  constructor(most: number) {
    this.most = most
  }

  /** Takes an amount for a sender; false, and nothing is taken, where that is more than is left or than its share. */
  take(sender: string, amount: number): boolean {
    const ofSender = (this.#takenBy.get(sender) ?? 0) + amount
    if (this.#taken + amount > this.most || ofSender > Math.ceil(this.most / 2)) return false
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
