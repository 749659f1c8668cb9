import { fairShare } from '../../../graphql/execution/admission/fair-share.ts'
import { networkOf } from '../../sender.ts'

/**
 * A capacity shared by senders, each of which may take at most a {@link fairShare} of what the others leave, so that
 * dozens cannot lock out the others. The first may take a half, the second then an eighth. The same holds for networks of
 * many senders.
 */
export class Budget {
  readonly #max: number
  #taken = 0
  /** Amount taken by each sender that holds any, and by each network of senders. */
  readonly #takenBy = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Returns whether an amount is within a sender's share, and that of its network. */
  hasRoom(sender: string, amount: number): boolean {
    for (const name of [sender, networkOf(sender)]) {
      if (name === null) continue
      const before = this.#takenBy.get(name) ?? 0
      const left = this.#max - (this.#taken - before)
      if (before + amount > fairShare(this.#max, left)) return false
    }
    return true
  }

  /** Returns the amount taken by a sender, or by its network. */
  takenBy(sender: string): number {
    return this.#takenBy.get(networkOf(sender) ?? sender) ?? 0
  }

  /**
   * Takes an amount for a sender.
   * @returns false, with nothing taken, if the amount exceeds the sender's share
   */
  take(sender: string, amount: number): boolean {
    if (!this.hasRoom(sender, amount)) return false
    this.add(sender, amount)
    return true
  }

  /** Takes an amount for a sender, or gives it back if negative, regardless of the sender's share. */
  add(sender: string, amount: number): void {
    this.#taken += amount
    for (const name of [sender, networkOf(sender)]) {
      if (name === null) continue
      const taken = (this.#takenBy.get(name) ?? 0) + amount
      if (taken > 0) this.#takenBy.set(name, taken)
      else this.#takenBy.delete(name)
    }
  }

  giveBack(sender: string, amount: number): void {
    this.add(sender, -amount)
  }
}
