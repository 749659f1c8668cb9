import { networkOf } from '../../sender.ts'
import { type HeldBody, HeldBytes } from './held-bytes.ts'
import { MaxHeap } from './max-heap.ts'

/**
 * Counts the bytes that holders retain in memory, each shared buffer once in total, and once for each sender of holders; all
 * senders of a network count as one. Every operation takes logarithmic time.
 */
export class SenderBytes<Holder> {
  #total = 0
  /** How often each buffer is held. */
  readonly #holdsOf = new Map<HeldBody, number>()
  readonly #bySender = new Map<string, HeldBytes<Holder>>()
  /** Senders by the bytes of their holders. */
  readonly #senders = new MaxHeap<string>()

  get total(): number {
    return this.#total
  }

  /**
   * The greatest holder of the sender that holds the most; null if no bytes are held. Many small holders of one sender thus
   * do not make a larger one of another sender the greatest.
   */
  get greatest(): Holder | null {
    const sender = this.#senders.heaviest?.key
    return sender === undefined ? null : (this.#bySender.get(sender)?.greatest ?? null)
  }

  /** Counts a body for a holder, which may hold it several times. */
  hold(sender: string, holder: Holder, body: HeldBody): void {
    const holds = this.#holdsOf.get(body) ?? 0
    if (holds === 0) this.#total += body.length
    this.#holdsOf.set(body, holds + 1)
    const name = networkOf(sender) ?? sender
    const held = this.#bySender.get(name) ?? new HeldBytes<Holder>()
    held.hold(holder, body)
    this.#bySender.set(name, held)
    this.#senders.set(name, held.total)
  }

  /** Releases one hold of a body. */
  release(sender: string, holder: Holder, body: HeldBody): void {
    const holds = this.#holdsOf.get(body) ?? 0
    if (holds > 1) this.#holdsOf.set(body, holds - 1)
    else if (this.#holdsOf.delete(body)) this.#total -= body.length
    const name = networkOf(sender) ?? sender
    const held = this.#bySender.get(name)
    held?.release(holder, body)
    if (held !== undefined && held.total > 0) return this.#senders.set(name, held.total)
    this.#bySender.delete(name)
    this.#senders.delete(name)
  }
}
