import type { NetworkOf } from './fair-queue.ts'

/** Limits of admission control. Costs are those of tickets: query costs, but for preparation. */
export interface AdmissionOptions {
  /** Maximum cost of cheap work; other work of operations is expensive. */
  readonly cheapCost: number
  /** Maximum total cost of running expensive work, unless it is a single piece. */
  readonly maxExpensive: number
  /**
   * Maximum total cost of running cheap work, excluding short work that did not wait and work with long reads, unless it is a
   * single piece. A sender or network may use three quarters while the others have none, else a fair share of what they leave.
   */
  readonly maxCheap: number
  /** The same of cheap work with long reads, but for one that is alone, which may use half. */
  readonly maxWithLongReads: number
  /** The same of short work with long reads, which does not wait within it; more counts as longer work. */
  readonly maxShortWithLongReads: number
  /** Maximum cost of short work. */
  readonly shortCost: number
  /** Maximum total cost of running short work of one sender or network without long reads; more counts as longer work. */
  readonly shortOfClient: number
  /** Maximum preparation cost of short preparation, which never waits. */
  readonly shortPreparation: number
  /** Maximum total preparation cost of longer preparation that runs, unless it is a single piece. */
  readonly maxPreparation: number
  /** Maximum time for which expensive work yields to cheap work. */
  readonly yieldMilliseconds: number
  /** Maximum length of each of the four queues. A sender or network may use a fair share of what the others leave. */
  readonly maxWaiting: number
  /** Finds networks of senders, each of which counts as one sender; without it there are none. */
  readonly networkOf?: NetworkOf
}
