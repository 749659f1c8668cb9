import type { Cancellation } from '../../../database/cancellation.ts'
import { ReadCancelled } from '../../../database/errors.ts'
import type { NetworkOf } from './fair-queue.ts'
import { fairShare } from './fair-share.ts'
import { RunningCost } from './running-cost.ts'
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
  /** Sender of the request; senders are served round-robin, with all senders of a network as one. */
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
   * share, or if it is short and its client has little short work running; other cheap work waits. Cheap work with long reads,
   * short or not, has such limits of its own, since most of its time it waits for their connections. Expensive work runs when
   * no cheap work runs, or when it has yielded to cheap work for `yieldMilliseconds`.
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
  prepare<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /** Starts no expensive work and no longer preparation for a time, after other work that blocked the event loop. */
  pause(milliseconds: number): Promise<void>
}

/** Limits of admission control. Costs are those of tickets: query costs, but for preparation. */
export interface AdmissionOptions {
  /** Maximum cost of cheap work; other work of operations is expensive. */
  readonly cheapCost: number
  /** Maximum total cost of running expensive work, unless it is a single piece. */
  readonly maxExpensive: number
  /**
   * Maximum total cost of running cheap work, excluding short work that did not wait and work with long reads, unless it is a
   * single piece. A sender or network may use three quarters while the others have none, else a {@link fairShare} of what they leave.
   */
  readonly maxCheap: number
  /** The same of cheap work with long reads, but for one that is alone, which may use half. */
  readonly maxWithLongReads: number
  /** Maximum cost of short work, which does not wait within `shortOfSender`. */
  readonly shortCost: number
  /** Maximum total cost of running short work of one sender or network; more counts as longer work. */
  readonly shortOfSender: number
  /** Maximum preparation cost of short preparation, which never waits. */
  readonly shortPreparation: number
  /** Maximum total preparation cost of longer preparation that runs, unless it is a single piece. */
  readonly maxPreparation: number
  /** Maximum time for which expensive work yields to cheap work. */
  readonly yieldMilliseconds: number
  /** Maximum length of each of the four queues. A sender or network may use a {@link fairShare} of what the others leave. */
  readonly maxWaiting: number
  /** Finds networks of senders, each of which counts as one sender; without it there are none. */
  readonly networkOf?: NetworkOf
}

/** Creates admission control with four classes of work: cheap, cheap with long reads, expensive, and preparation. */
export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  return new WorkAdmission(options)
}

class WorkAdmission implements AdmissionControl {
  readonly #options: AdmissionOptions
  readonly #networkOf: NetworkOf
  readonly #cheap: WorkClass
  readonly #withLongReads: WorkClass
  readonly #expensive: WorkClass
  readonly #preparation: WorkClass
  /** Short work that did not wait: it does not count for the limit of longer work, which many senders could otherwise delay. */
  readonly #short = new RunningCost()
  /** Number of pauses in progress after work that blocked the event loop: pending network events are handled first. */
  #pauses = 0

  constructor(options: AdmissionOptions) {
    const { networkOf = () => null } = options
    this.#options = options
    this.#networkOf = networkOf
    this.#cheap = new WorkClass({ max: options.maxCheap, hasShares: true, shareAlone: 3 / 4 }, networkOf)
    this.#withLongReads = new WorkClass({ max: options.maxWithLongReads, hasShares: true }, networkOf)
    this.#expensive = new WorkClass({ max: options.maxExpensive, hasShares: false }, networkOf)
    this.#preparation = new WorkClass({ max: options.maxPreparation, hasShares: false }, networkOf)
  }

  async run<Result>(work: Work<Result>, ticket: Ticket): Promise<Result> {
    const { cost, sender } = ticket
    if (cost > this.#options.cheapCost) return this.#queued(this.#expensive, work, ticket)
    const client = this.#clientOf(sender)
    const isShort = this.#beginShort(client, ticket)
    const workClass = ticket.hasLongReads === true ? this.#withLongReads : this.#cheap
    if (!isShort && !workClass.beginUnqueued(client, cost)) await this.#turn(workClass, ticket)
    try {
      return await work()
    } finally {
      const running = isShort ? this.#short : workClass.running
      running.remove(client, cost)
      if (workClass.waiting.size > 0 || this.#expensive.waiting.size > 0) setImmediate(this.#admit)
    }
  }

  /** Counts work as running where it is short; returns whether it is. */
  #beginShort(client: string, { cost, hasLongReads }: Ticket): boolean {
    const { shortCost, shortOfSender } = this.#options
    if (hasLongReads === true || cost > shortCost || this.#short.of(client) + cost > shortOfSender) return false
    this.#short.add(client, cost)
    return true
  }

  async prepare<Result>(work: Work<Result>, ticket: Ticket): Promise<Result> {
    return ticket.cost <= this.#options.shortPreparation ? work() : this.#queued(this.#preparation, work, ticket)
  }

  async pause(milliseconds: number): Promise<void> {
    this.#pauses++
    await new Promise((resolve) => setTimeout(resolve, milliseconds))
    this.#pauses--
    this.#admit()
  }

  #clientOf(sender: string): string {
    return this.#networkOf(sender) ?? sender
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
    return this.#cheap.running.total + this.#withLongReads.running.total + this.#short.total > 0
  }

  /** Returns whether expensive work still yields to cheap work. */
  #yields(first: QueuedWork): boolean {
    const { yieldMilliseconds } = this.#options
    const now = performance.now()
    if (first.yieldsUntil !== undefined) return now < first.yieldsUntil
    first.yieldsUntil = now + yieldMilliseconds
    setTimeout(this.#admit, yieldMilliseconds + 1)
    return true
  }

  /** Queues work; resolves when it counts as running. */
  #turn({ waiting }: WorkClass, { cost, sender, signal }: Ticket): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    const [max, ofClient] = [this.#options.maxWaiting, waiting.sizeOfClient(sender)]
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
      workClass.running.remove(this.#clientOf(ticket.sender), ticket.cost)
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
      if (pauseMilliseconds > 1) void this.pause(pauseMilliseconds).then(release)
      else setImmediate(release)
    }
  }
}
