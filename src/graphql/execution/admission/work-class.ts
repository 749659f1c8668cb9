import { AmountsByClient, fairShare } from '../../../fairness/budget.ts'
import { FairQueue } from '../../../fairness/fair-queue.ts'

/** Work that waits. */
export interface QueuedWork {
  readonly cost: number
  readonly sender: string
  readonly begin: () => void
  /** Time when it stops yielding to cheap work; undefined until the limit on running work admits it. */
  yieldsUntil?: number
}

/** Limits of running work of one class. */
interface RunningLimits {
  /** Maximum total cost, unless it is a single piece. */
  readonly max: number
  /**
   * Whether each client may have a {@link fairShare} of it only, unless it is a single piece: then the work of one client
   * cannot keep that of others waiting, however long it runs.
   */
  readonly hasShares: boolean
  /**
   * Part of the maximum that a client may have while no work of others runs; without it half. More of it makes larger batches of
   * reads; the rest stays free, so that another client starts at once.
   */
  readonly shareAlone?: number
}

/** Work of one class: its queue, and the cost of running work. */
export class WorkClass {
  readonly waiting = new FairQueue<QueuedWork>()
  /** Cost of running work. */
  readonly running = new AmountsByClient()
  readonly #limits: RunningLimits

  constructor(limits: RunningLimits) {
    this.#limits = limits
  }

  /** Counts work as running where nothing waits and the limits permit it; returns whether it does. */
  beginUnqueued(sender: string, cost: number): boolean {
    if (this.waiting.size > 0 || !this.#hasRoomFor(cost) || !this.#isWithinShare(sender, cost)) return false
    this.running.add(sender, cost)
    return true
  }

  /**
   * Starts queued work in order, while the limit permits it and `may` returns true. A client whose share is used up is
   * passed over, and keeps its place: it is the next in turn when its own work has ended.
   */
  admit(may: (first: QueuedWork) => boolean): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      if (!this.#hasRoomFor(first.cost) || !may(first)) return
      this.waiting.takeOf(first.sender)
      this.running.add(first.sender, first.cost)
      first.begin()
    }
  }

  #first(): QueuedWork | undefined {
    return this.waiting.peek((client, { cost }) => this.#isWithinShare(client, cost))
  }

  #hasRoomFor(cost: number): boolean {
    return this.running.total === 0 || this.running.total + cost <= this.#limits.max
  }

  #isWithinShare(sender: string, cost: number): boolean {
    const { max, hasShares, shareAlone } = this.#limits
    const ofClient = this.running.of(sender)
    if (!hasShares || ofClient === 0) return true
    const ofOthers = this.running.total - ofClient
    const share = ofOthers === 0 && shareAlone !== undefined ? max * shareAlone : fairShare(max, max - ofOthers)
    return ofClient + cost <= share
  }
}
