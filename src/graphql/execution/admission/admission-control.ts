import type { Cancellation } from '../../../database/cancellation.ts'
import { ReadCancelled } from '../../../database/errors.ts'
import { FairQueue } from './fair-queue.ts'

type Work<Result> = () => Promise<Result> | Result

/** The queue of work that waits for admission is full. The same may be admitted later. */
export class AdmissionQueueFull extends Error {
  constructor(readonly waiting: number) {
    super(`${waiting} requests wait for their turn already.`)
    this.name = 'AdmissionQueueFull'
  }
}

/** What admission control knows of a piece of work. */
export interface Ticket {
  /** In units of query cost. */
  readonly cost: number
  /** Senders are served in turn. */
  readonly sender: string
  readonly signal?: Cancellation | undefined
}

/**
 * Limits the total cost in flight, so that expensive queries cannot delay cheap ones, and answers in the making cannot
 * fill the memory.
 */
export interface AdmissionControl {
  /**
   * Runs cheap work: at once, unless it costs more than `shortCost` and as much cheap work runs as may.
   * @throws {ReadCancelled} where its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  cheap<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /**
   * Runs expensive work when no cheap work runs, or when it has waited for that long enough.
   * @throws {ReadCancelled} where its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  expensive<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
  /**
   * Runs work that takes CPU time before a query can run: parsing, validation, coercion. Short work runs at once; of other
   * work little runs in one iteration of the event loop, so that requests that need none of it are not delayed.
   * @throws {ReadCancelled} where its signal is aborted while it waits
   * @throws {AdmissionQueueFull}
   */
  prepare<Result>(work: Work<Result>, ticket: Ticket): Promise<Result>
}

export interface AdmissionOptions {
  /** All expensive work that runs costs no more, or is one alone. */
  readonly mostExpensive: number
  /** All cheap work that runs costs no more when work above `shortCost` begins, or it is alone. */
  readonly mostCheap: number
  /** Work that costs no more never waits. */
  readonly shortCost: number
  /** Preparation that costs no more never waits. */
  readonly shortPreparation: number
  /** All other preparation that runs costs no more, or is one alone. */
  readonly mostPreparation: number
  /** How long expensive work waits for a moment without cheap work. */
  readonly yieldMilliseconds: number
  /** How many wait in each of the three queues. */
  readonly mostWaiting: number
  /** How many of one sender. */
  readonly mostWaitingOfSender: number
}

interface Waiting {
  readonly cost: number
  readonly begin: () => void
  /** When it no longer yields to cheap work; undefined until there is room for it. */
  yieldsUntil?: number
}

/** Work of one class: its queue, and the cost of all that runs. */
class WorkClass {
  readonly waiting = new FairQueue<Waiting>()
  running = 0

  constructor(readonly most: number) {}

  hasRoomFor(cost: number): boolean {
    return this.running === 0 || this.running + cost <= this.most
  }

  /** Begins what waits, in its order, as long as there is room and `may` agrees. */
  admit(may: (first: Waiting) => boolean): void {
    for (let first = this.waiting.peek(); first !== undefined; first = this.waiting.peek()) {
      if (!this.hasRoomFor(first.cost) || !may(first)) return
      this.waiting.take()
      this.running += first.cost
      first.begin()
    }
  }
}

export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  const { shortCost, shortPreparation, yieldMilliseconds, mostWaiting, mostWaitingOfSender } = options
  const cheap = new WorkClass(options.mostCheap)
  const expensive = new WorkClass(options.mostExpensive)
  const preparation = new WorkClass(options.mostPreparation)

  function admit(): void {
    cheap.admit(() => true)
    expensive.admit((first) => cheap.running === 0 || !yields(first))
    preparation.admit(() => true)
  }

  function yields(first: Waiting): boolean {
    const now = performance.now()
    if (first.yieldsUntil !== undefined) return now < first.yieldsUntil
    first.yieldsUntil = now + yieldMilliseconds
    setTimeout(admit, yieldMilliseconds + 1)
    return true
  }

  function turn({ waiting }: WorkClass, { cost, sender, signal }: Ticket): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    if (waiting.size >= mostWaiting || waiting.sizeOf(sender) >= mostWaitingOfSender) {
      return Promise.reject(new AdmissionQueueFull(waiting.size))
    }
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
      const entry: Waiting = { cost, begin }
      waiting.add(sender, entry)
      signal?.addEventListener('abort', leave)
      admit()
    })
  }

  async function queued<Result>(workClass: WorkClass, work: Work<Result>, ticket: Ticket): Promise<Result> {
    await turn(workClass, ticket)
    try {
      return await work()
    } finally {
      // The event loop handles what the network has brought before the next begins.
      setImmediate(() => {
        workClass.running -= ticket.cost
        admit()
      })
    }
  }

  return {
    async cheap(work, ticket) {
      const { cost } = ticket
      if (cost <= shortCost || (cheap.waiting.size === 0 && cheap.hasRoomFor(cost))) cheap.running += cost
      else await turn(cheap, ticket)
      try {
        return await work()
      } finally {
        cheap.running -= cost
        if (cheap.waiting.size > 0 || expensive.waiting.size > 0) setImmediate(admit)
      }
    },

    expensive: (work, ticket) => queued(expensive, work, ticket),

    prepare: async (work, ticket) => (ticket.cost <= shortPreparation ? work() : queued(preparation, work, ticket)),
  }
}
