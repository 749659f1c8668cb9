import { clientOf } from '../../../fairness/budget.ts'
import { type HeldBody, HeldBytes } from './held-bytes.ts'

/**
 * Counts the bytes that holders retain in memory, each shared buffer once, and chooses the greatest holder by its sender; all
 * senders of a network count as one. Every operation takes logarithmic time.
 */
export class SenderBytes<Holder> {
  /** Bodies of each sender, by its name. */
  readonly #senders = new HeldBytes<string>()
  readonly #holdersOf = new Map<string, HeldBytes<Holder>>()

  get total(): number {
    return this.#senders.total
  }

  /**
   * The greatest holder of the sender whose removal frees the most bytes; or, if a body that senders share has more bytes for
   * each of them, of the oldest of these. Null if no bytes are held. Many small holders of one sender thus do not make a
   * larger one of another sender the greatest.
   */
  get greatest(): Holder | null {
    const sender = this.#senders.greatest
    return sender === null ? null : (this.#holdersOf.get(sender)?.greatest ?? null)
  }

  /** Counts a body for a holder, which may hold it several times. */
  hold(sender: string, holder: Holder, body: HeldBody): void {
    const name = clientOf(sender)
    const held = this.#holdersOf.get(name) ?? new HeldBytes<Holder>()
    this.#holdersOf.set(name, held)
    held.hold(holder, body)
    this.#senders.hold(name, body)
  }

  /** Releases one hold of a body. */
  release(sender: string, holder: Holder, body: HeldBody): void {
    const name = clientOf(sender)
    const held = this.#holdersOf.get(name)
    held?.release(holder, body)
    this.#senders.release(name, body)
    if (held?.total === 0) this.#holdersOf.delete(name)
  }
}
