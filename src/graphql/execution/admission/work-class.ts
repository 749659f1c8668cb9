import { FairQueue, type NetworkOf } from './fair-queue.ts'

/** Work that waits. */
export interface QueuedWork {
  readonly cost: number
  readonly begin: () => void
  /** Time when it stops yielding to cheap work; undefined until the limit on running work admits it. */
  yieldsUntil?: number
}

/** Work of one class: its queue, and the total cost of running work. */
export class WorkClass {
  readonly waiting: FairQueue<QueuedWork>
  running = 0

  /** @param maxRunning maximum total cost of running work, unless it is a single piece */
  constructor(
    readonly maxRunning: number,
    networkOf: NetworkOf,
  ) {
    this.waiting = new FairQueue(networkOf)
  }

  /** Counts work as running where nothing waits and the limit permits it; returns whether it does. */
  beginUnqueued(cost: number): boolean {
    if (this.waiting.size > 0 || !this.#hasRoomFor(cost)) return false
    this.running += cost
    return true
  }

  /** Starts queued work in order, while the limit permits it and `may` returns true. */
  admit(may: (first: QueuedWork) => boolean): void {
    for (let first = this.waiting.peek(); first !== undefined; first = this.waiting.peek()) {
      if (!this.#hasRoomFor(first.cost) || !may(first)) return
      this.waiting.take()
      this.running += first.cost
      first.begin()
    }
  }

  #hasRoomFor(cost: number): boolean {
    return this.running === 0 || this.running + cost <= this.maxRunning
  }
}
