import type { Cancellation } from '../../../database/cancellation.ts'
import { ReadCancelled } from '../../../database/errors.ts'
import { FairQueue, type NetworkOf } from './fair-queue.ts'

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
  /** Cost in units of query cost. */
  readonly cost: number
  /** Sender of the request; senders are served round-robin, with all senders of a network as one. */
  readonly sender: string
  readonly signal?: Cancellation | undefined
}

/**
 * Limits the total cost in flight, so that expensive queries cannot delay cheap ones, and responses in production
 * cannot exhaust the memory.
 */
export interface AdmissionControl {
  /**
   * Runs cheap work: immediately within the limit on running cheap work, or if the work is short and its sender's
   * network has little short work running. Other work waits.
   * @throws {ReadCancelled} if its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  cheap<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /**
   * Runs expensive work when no cheap work runs, or when it has yielded to cheap work for `yieldMilliseconds`.
   * @throws {ReadCancelled} if its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  expensive<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /**
   * Runs work that takes CPU time before a query can run: parsing, validation, coercion. Short work runs immediately;
   * longer work is limited in each iteration of the event loop, so that requests without preparation are not delayed.
   * @throws {ReadCancelled} if its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  prepare<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /** Starts no expensive work and no longer preparation for a time, after other work that blocked the event loop. */
  rest(milliseconds: number): Promise<void>
}

/** Limits of admission control, in units of query cost unless stated otherwise. */
export interface AdmissionOptions {
  /** Maximum total cost of running expensive work, unless it is a single piece. */
  readonly maxExpensive: number
  /** Maximum total cost of running cheap work, excluding short work that did not wait, unless it is a single piece. */
  readonly maxCheap: number
  /** Maximum cost of cheap work that does not wait. */
  readonly shortCost: number
  /** Maximum total cost of running short work of one sender or network; more counts as longer work. */
  readonly shortOfSender: number
  /** Maximum cost of preparation that never waits. */
  readonly shortPreparation: number
  /** Maximum total cost of other running preparation, unless it is a single piece. */
  readonly maxPreparation: number
  /** Maximum time for which expensive work yields to cheap work. */
  readonly yieldMilliseconds: number
  /** Maximum length of each of the three queues. A sender or network may use half of what the others leave. */
  readonly maxWaiting: number
  /** Finds networks of senders, each of which counts as one sender; without it there are none. */
  readonly networkOf?: NetworkOf
}

interface QueuedWork {
  readonly cost: number
  readonly begin: () => void
  /** Time when it stops yielding to cheap work; undefined until the limit on running work admits it. */
  yieldsUntil?: number
}

/** Work of one class: its queue, and the total cost of running work. */
class WorkClass {
  readonly waiting: FairQueue<QueuedWork>
  running = 0

  constructor(
    readonly most: number,
    networkOf: NetworkOf,
  ) {
    this.waiting = new FairQueue(networkOf)
  }

  hasRoomFor(cost: number): boolean {
    return this.running === 0 || this.running + cost <= this.most
  }

  /** Starts queued work in order, while the limit permits it and `may` returns true. */
  admit(may: (first: QueuedWork) => boolean): void {
    for (let first = this.waiting.peek(); first !== undefined; first = this.waiting.peek()) {
      if (!this.hasRoomFor(first.cost) || !may(first)) return
      this.waiting.take()
      this.running += first.cost
      first.begin()
    }
  }
}

/** Creates admission control with three classes of work: cheap, expensive and preparation. */
export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  const { shortCost, shortOfSender, shortPreparation, yieldMilliseconds, maxWaiting } = options
  const { networkOf = () => null } = options
  const cheap = new WorkClass(options.maxCheap, networkOf)
  const expensive = new WorkClass(options.maxExpensive, networkOf)
  const preparation = new WorkClass(options.maxPreparation, networkOf)

  /** Number of pauses in progress after work that blocked the event loop: pending network events are handled first. */
  let resting = 0

  /** Cost of running short work, which did not wait, by network or sender; `allShort` is the sum. */
  const shortRunning = new Map<string, number>()
  let allShort = 0

  function admit(): void {
    cheap.admit(() => true)
    // Both classes pause together: otherwise one would use the time that the other leaves free.
    if (resting > 0) return
    expensive.admit((first) => cheap.running + allShort === 0 || !yields(first))
    preparation.admit(() => true)
  }

  function yields(first: QueuedWork): boolean {
    const now = performance.now()
    if (first.yieldsUntil !== undefined) return now < first.yieldsUntil
    first.yieldsUntil = now + yieldMilliseconds
    setTimeout(admit, yieldMilliseconds + 1)
    return true
  }

  function turn({ waiting }: WorkClass, { cost, sender, signal }: Ticket): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    const ofClient = waiting.sizeOfClient(sender)
    const left = maxWaiting - (waiting.size - ofClient)
    if (ofClient >= Math.ceil(left / 2)) return Promise.reject(new AdmissionQueueFull(waiting.size))
    return new Promise((resolve, reject) => {
      const leave = {
        handleEvent(): void {
          waiting.delete(sender, entry)
          reject(new ReadCancelled())
          admit()
        },
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const entry: QueuedWork = { cost, begin }
      waiting.add(sender, entry)
      signal?.addEventListener('abort', leave)
      admit()
    })
  }

  async function queued<Result>(workClass: WorkClass, work: Work<Result>, ticket: Ticket): Promise<Result> {
    await turn(workClass, ticket)
    const release = (): void => {
      workClass.running -= ticket.cost
      admit()
    }
    const begun = performance.now()
    let pauseMilliseconds = 0
    try {
      const result = work()
      pauseMilliseconds = performance.now() - begun
      return await result
    } finally {
      // Synchronous work may use half of the event loop's time, because short requests need several iterations.
      if (pauseMilliseconds > 1) void rest(pauseMilliseconds).then(release)
      else setImmediate(release)
    }
  }

  async function rest(milliseconds: number): Promise<void> {
    resting++
    await new Promise((resolve) => setTimeout(resolve, milliseconds))
    resting--
    admit()
  }

  return {
    rest,
    async cheap(work, ticket) {
      const { cost, sender } = ticket
      const client = networkOf(sender) ?? sender
      const ofClient = shortRunning.get(client) ?? 0
      const isShort = cost <= shortCost && ofClient + cost <= shortOfSender
      // Short work does not count for the limit of longer work, which many senders could otherwise delay.
      if (isShort) {
        shortRunning.set(client, ofClient + cost)
        allShort += cost
      } else if (cheap.waiting.size === 0 && cheap.hasRoomFor(cost)) cheap.running += cost
      else await turn(cheap, ticket)
      try {
        return await work()
      } finally {
        if (isShort) {
          allShort -= cost
          const left = (shortRunning.get(client) ?? 0) - cost
          if (left > 0) shortRunning.set(client, left)
          else shortRunning.delete(client)
        } else cheap.running -= cost
        if (cheap.waiting.size > 0 || expensive.waiting.size > 0) setImmediate(admit)
      }
    },

    expensive: (work, ticket) => queued(expensive, work, ticket),

    prepare: async (work, ticket) => (ticket.cost <= shortPreparation ? work() : queued(preparation, work, ticket)),
  }
}
