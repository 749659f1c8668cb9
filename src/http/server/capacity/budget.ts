import { clientOf, fairShare } from '../../../graphql/execution/admission/clients.ts'

/**
 * A capacity shared by clients, each of which may take at most a {@link fairShare} of what the others leave, so that
 * dozens cannot lock out the others. The first may take a half, the second then an eighth.
 */
export class Budget {
  readonly #max: number
  #taken = 0
  /** Amount taken by each client that holds any. */
  readonly #takenBy = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Returns whether an amount is within the share of a sender's client. */
  hasRoom(sender: string, amount: number): boolean {
    const taken = this.takenBy(sender)
    const left = this.#max - (this.#taken - taken)
    return taken + amount <= fairShare(this.#max, left)
  }

  /** Returns the amount taken by a sender's client. */
  takenBy(sender: string): number {
    return this.#takenBy.get(clientOf(sender)) ?? 0
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

  /** Takes an amount for a sender, or gives it back if negative, regardless of its client's share. */
  add(sender: string, amount: number): void {
    this.#taken += amount
    const taken = this.takenBy(sender) + amount
    if (taken > 0) this.#takenBy.set(clientOf(sender), taken)
    else this.#takenBy.delete(clientOf(sender))
  }

  giveBack(sender: string, amount: number): void {
    this.add(sender, -amount)
  }
}
