import { FairQueue } from '../../fairness/fair-queue.ts'

/**
 * Turns for work that many requests may reach at the same moment, such as when a response that they share is ready: all
 * of it at once would block the event loop. Once the turns of one of its iterations have taken a time, the next
 * iteration goes on. Clients take turns, and so do the senders of each; those of one sender are first in, first out.
 */
export class Turns {
  readonly #milliseconds: number
  readonly #waiting = new FairQueue<() => void>()
  #isScheduled = false
  /** When this iteration of the event loop began its first turn; null before. */
  #startedAt: number | null = null

  /** @param milliseconds of one iteration after which no more turns begin */
  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds
  }

  /** Resolves in the sender's turn: the microtasks that follow are part of it. */
  next(sender: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(sender, resolve)
      this.#schedule()
    })
  }

  /** Returns whether short synchronous work may run at once: nothing waits, and this iteration has time. */
  isFree(): boolean {
    return this.#waiting.size === 0 && this.#hasTime()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    // All microtasks run before the next tick, and so the whole turn before this one.
    if (this.#hasTime()) queueMicrotask(() => process.nextTick(this.#takeTurn))
    else setImmediate(this.#takeTurn)
  }

  readonly #takeTurn = (): void => {
    this.#isScheduled = false
    if (this.#hasTime()) this.#waiting.take()?.entry()
    this.#schedule()
  }

  #hasTime(): boolean {
    if (this.#startedAt !== null) return performance.now() - this.#startedAt < this.#milliseconds
    this.#startedAt = performance.now()
    setImmediate(() => (this.#startedAt = null))
    return true
  }
}
