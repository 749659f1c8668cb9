import type { Cancellation } from '../../../database/cancellation.ts'
import { ReadCancelled } from '../../../database/errors.ts'
import type { AdmissionLimits } from '../../../limits.ts'
import { AmountsByClient, fairShare } from '../../../fairness/budget.ts'
import { type QueuedWork, WorkClass } from './work-class.ts'

type Work<Result> = () => Promise<Result> | Result

/** The queue of work that waits for admission is full. The same work may be admitted later. */
export class AdmissionQueueFull extends Error {
  constructor(readonly waiting: number) {
    super(`${waiting} requests are already waiting.`)
    this.name = 'AdmissionQueueFull'
  }
}

/** Properties of a piece of work that admission control uses. */
export interface Ticket {
  /** Query cost of an operation; of preparation its own cost, by `preparationCosts`. */
  readonly cost: number
  /** Sender of the request; clients are served round-robin, and so are the senders of each. */
  readonly sender: string
  /** Whether an operation may send long reads, which share few connections; of preparation undefined. */
  readonly hasLongReads?: boolean
  readonly signal?: Cancellation | undefined
}

/**
 * Limits the total cost in flight, so that expensive queries cannot delay cheap ones, and responses in production
 * cannot exhaust the memory.
 */
export interface AdmissionControl {
  /**
   * Runs an operation. Cheap work, by its cost, runs immediately within the limits on running cheap work and on its client's
   * share, or if it is short and its client has little short work running; other cheap work waits. Cheap work with long reads
   * has such limits of its own, since most of its time it waits for their connections. Expensive work runs when no cheap work
   * runs, or when it has yielded to cheap work for `yieldMilliseconds`.
   * @throws {ReadCancelled} if its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  run<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /**
   * Runs work that takes CPU time before a query can run: parsing, validation, coercion. Short work runs immediately;
   * longer work is limited in each iteration of the event loop, so that requests without preparation are not delayed.
   * @throws {ReadCancelled} if its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  runPreparation<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /** Starts no expensive work and no longer preparation for a time, after other work that blocked the event loop. */
  pause(milliseconds: number): Promise<void>
}

/**
 * Creates admission control with four queues: of cheap work, cheap work with long reads, expensive work, and preparation.
 * Each has at most `maxWaiting` entries.
 */
export function createAdmissionControl(limits: AdmissionLimits): AdmissionControl {
  return new WorkAdmission(limits)
}

class WorkAdmission implements AdmissionControl {
  readonly #limits: AdmissionLimits
  readonly #cheap: WorkClass
  readonly #withLongReads: WorkClass
  /** Short work with long reads that did not wait: otherwise a small chart would wait for the turns of large ones. */
  readonly #shortWithLongReads: WorkClass
  readonly #expensive: WorkClass
  readonly #preparation: WorkClass
  /** Cost of short work that did not wait: it does not count for the limit of longer work, which many senders could otherwise delay. */
  readonly #short = new AmountsByClient()
  /** Number of pauses in progress after work that blocked the event loop: pending network events are handled first. */
  #pauses = 0
  /** The pauses after expensive work, one after the other: pieces of it that blocked an iteration together pause as long as all. */
  #pausesOfExpensive: Promise<void> = Promise.resolve()

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
    this.#cheap = new WorkClass({ max: limits.maxCheap, hasShares: true, shareAlone: 3 / 4 })
    this.#withLongReads = new WorkClass({ max: limits.maxWithLongReads, hasShares: true })
    this.#shortWithLongReads = new WorkClass({ max: limits.maxShortWithLongReads, hasShares: true })
    this.#expensive = new WorkClass({ max: limits.maxExpensive, hasShares: false })
    this.#preparation = new WorkClass({ max: limits.maxPreparation, hasShares: false })
  }

  async run<Result>(work: Work<Result>, ticket: Ticket): Promise<Result> {
    const { cost, sender } = ticket
    if (cost > this.#limits.cheapCost) return this.#queued(this.#expensive, work, ticket)
    const short = this.#beginShort(ticket)
    const workClass = ticket.hasLongReads === true ? this.#withLongReads : this.#cheap
    if (short === null && !workClass.beginUnqueued(sender, cost)) await this.#turn(workClass, ticket)
    try {
      return await work()
    } finally {
      const running = short ?? workClass.running
      running.add(sender, -cost)
      if (workClass.waiting.size > 0 || this.#expensive.waiting.size > 0) setImmediate(this.#admit)
    }
  }

  /** Counts work as running where it is short, and returns in which count; null if it counts as longer work. */
  #beginShort({ cost, sender, hasLongReads }: Ticket): AmountsByClient | null {
    const { shortCost, shortOfClient } = this.#limits
    if (cost > shortCost) return null
    const { running } = this.#shortWithLongReads
    if (hasLongReads === true) return this.#shortWithLongReads.beginUnqueued(sender, cost) ? running : null
    if (this.#short.of(sender) + cost > shortOfClient) return null
    this.#short.add(sender, cost)
    return this.#short
  }

  async runPreparation<Result>(work: Work<Result>, ticket: Ticket): Promise<Result> {
    return ticket.cost <= this.#limits.shortPreparation ? work() : this.#queued(this.#preparation, work, ticket)
  }

  pause(milliseconds: number): Promise<void> {
    return this.#pauseUntil(timePasses(milliseconds))
  }

  async #pauseUntil(over: Promise<void>): Promise<void> {
    this.#pauses++
    await over
    this.#pauses--
    this.#admit()
  }

  #pauseAfter(workClass: WorkClass, milliseconds: number): Promise<void> {
    if (workClass !== this.#expensive) return this.pause(milliseconds)
    this.#pausesOfExpensive = this.#pausesOfExpensive.then(() => timePasses(milliseconds))
    return this.#pauseUntil(this.#pausesOfExpensive)
  }

  /** Starts queued work, as far as the limits permit it. */
  readonly #admit = (): void => {
    this.#cheap.admit(() => true)
    this.#withLongReads.admit(() => true)
    // Both classes pause together: otherwise one would use the time that the other leaves free.
    if (this.#pauses > 0) return
    this.#expensive.admit((first) => !this.#hasCheapRunning() || !this.#yields(first))
    this.#preparation.admit(() => true)
  }

  #hasCheapRunning(): boolean {
    const counts = [this.#cheap.running, this.#withLongReads.running, this.#shortWithLongReads.running, this.#short]
    return counts.some(({ total }) => total > 0)
  }

  /** Returns whether expensive work still yields to cheap work. */
  #yields(first: QueuedWork): boolean {
    const { yieldMilliseconds } = this.#limits
    const now = performance.now()
    if (first.yieldsUntil !== undefined) return now < first.yieldsUntil
    first.yieldsUntil = now + yieldMilliseconds
    setTimeout(this.#admit, yieldMilliseconds + 1)
    return true
  }

  /** Queues work; resolves when it counts as running. */
  #turn({ waiting }: WorkClass, { cost, sender, signal }: Ticket): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    const [max, ofClient] = [this.#limits.maxWaiting, waiting.sizeOfClient(sender)]
    const isFull = ofClient >= fairShare(max, max - waiting.size + ofClient)
    if (isFull) return Promise.reject(new AdmissionQueueFull(waiting.size))
    return new Promise((resolve, reject) => {
      const leave = {
        handleEvent: (): void => {
          waiting.delete(sender, entry)
          reject(new ReadCancelled())
          this.#admit()
        },
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const entry: QueuedWork = { cost, sender, begin }
      waiting.add(sender, entry)
      signal?.addEventListener('abort', leave)
      this.#admit()
    })
  }

  async #queued<Result>(workClass: WorkClass, work: Work<Result>, ticket: Ticket): Promise<Result> {
    await this.#turn(workClass, ticket)
    const release = (): void => {
      workClass.running.add(ticket.sender, -ticket.cost)
      this.#admit()
    }
    const begun = performance.now()
    let pauseMilliseconds = 0
    try {
      const result = work()
      pauseMilliseconds = performance.now() - begun
      return await result
    } finally {
      // Synchronous work may use half of the event loop's time, because short requests need several iterations.
      if (pauseMilliseconds > 1) void this.#pauseAfter(workClass, pauseMilliseconds).then(release)
      else setImmediate(release)
    }
  }
}

function timePasses(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
