import { resultWithin } from '../../../database/cancellation.ts'
import { ReadCancelled } from '../../../database/errors.ts'
import { admissionLimits } from '../../../limits.ts'
import type { AdmissionControl } from './admission-control.ts'
import { FairQueue } from '../../../fairness/fair-queue.ts'
import { measureBusyTime } from './busy-time.ts'
import type { ExecutionObserver, FallbackReason, RequestContext } from '../context.ts'

/** The request of an execution that waits for its turn. */
export type WaitingRequest = Pick<RequestContext, 'sender' | 'signal'>

/**
 * Maximum time of a turn of an expensive operation, in milliseconds. An execution may wait for a connection that another one
 * holds in a snapshot, and that one for its turn.
 */
const longestTurn = 500

/**
 * Rest after an execution, in times of how long it kept the event loop busy. The measured time of an operation that failed is that
 * of graphql-js alone; its compiled run before, in which it failed, took about as long.
 */
const restFactors: Readonly<Record<FallbackReason, number>> = { error: 2, 'not compiled': 1 }

/**
 * The executions by graphql-js, which block the event loop: when they start, and again when they complete the values that
 * they waited for. Of expensive operations one of each reason runs at a time. Cheap ones complete few values: one of each
 * reason starts at a time, and the next does not wait for its reads, which another client may make slow. After one that kept
 * the event loop busy, the next starts when that has been free for as long or longer, because other requests need several
 * iterations. Senders take turns. Admission control pauses after those that are not compiled, and not
 * after those that failed, which clients can cause at will: their pauses could prevent it from ever starting work.
 */
export class FallbackQueue {
  readonly #admission: Pick<AdmissionControl, 'pause'>
  readonly #observer: ExecutionObserver
  /** The queues of cheap operations, and those of expensive ones. */
  readonly #cheap: QueueOfReason
  readonly #expensive: QueueOfReason

  constructor(admission: Pick<AdmissionControl, 'pause'>, observer: ExecutionObserver = {}) {
    this.#admission = admission
    this.#observer = observer
    const queues = (): QueueOfReason => ({ error: new SerialQueue(), 'not compiled': new SerialQueue() })
    this.#cheap = queues()
    this.#expensive = queues()
  }

  /**
   * Starts an execution in its sender's turn among those of its reason.
   * @param cost query cost of the operation
   * @throws {ReadCancelled} if the signal is aborted before the execution starts
   */
  async execute<Result>(
    reason: FallbackReason,
    cost: number,
    requestContext: WaitingRequest,
    execute: () => Result | Promise<Result>,
  ): Promise<Result> {
    this.#observer.onFallback?.(reason)
    return this.#inTurn(reason, cost <= admissionLimits.cheapCost, requestContext, execute)
  }

  /**
   * Compiles an operation in its sender's turn, among the cheap ones that are not compiled.
   * @throws {ReadCancelled} if the signal is aborted before
   */
  compile<Result>(requestContext: WaitingRequest, compile: () => Result): Promise<Result> {
    return this.#inTurn('not compiled', true, requestContext, compile)
  }

  async #inTurn<Result>(
    reason: FallbackReason,
    isCheap: boolean,
    requestContext: WaitingRequest,
    execute: () => Result | Promise<Result>,
  ): Promise<Result> {
    const queue = (isCheap ? this.#cheap : this.#expensive)[reason]
    await queue.turn(requestContext)
    const busyTime = isCheap ? measureTime() : measureBusyTime()
    const running = (async () => execute())()
    const resting = isCheap ? this.#rest(reason, busyTime()) : this.#restAfter(reason, running, busyTime)
    void resting.then(() => queue.end())
    return running
  }

  /** Rests when an execution has ended, or has taken the longest time of a turn. */
  async #restAfter(reason: FallbackReason, running: Promise<unknown>, busyTime: () => number): Promise<void> {
    const ended = running.catch(() => undefined)
    await resultWithin(longestTurn, ended)
    // The text of the result is written in the iteration in which the execution has ended.
    await new Promise((resolve) => setImmediate(resolve))
    return this.#rest(reason, busyTime())
  }

  /** Leaves the event loop to others, by how long an execution kept it busy. */
  async #rest(reason: FallbackReason, busyMilliseconds: number): Promise<void> {
    const milliseconds = busyMilliseconds * restFactors[reason]
    if (milliseconds <= 1) return
    if (reason === 'not compiled') return this.#admission.pause(milliseconds)
    await new Promise((resolve) => setTimeout(resolve, milliseconds))
  }
}

type QueueOfReason = Readonly<Record<FallbackReason, SerialQueue>>

function measureTime(): () => number {
  const since = performance.now()
  return () => performance.now() - since
}

/** The executions of one reason, one after the other. */
class SerialQueue {
  readonly #waiting = new FairQueue<() => void>()
  /** Whether the turn of an execution is scheduled, or has not ended. */
  #isTaken = false

  /**
   * Resolves in the sender's turn, which ends by `end`.
   * @throws {ReadCancelled}
   */
  turn({ sender, signal }: WaitingRequest): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = {
        handleEvent: (): void => {
          this.#waiting.delete(sender, begin)
          reject(new ReadCancelled())
        },
      }
      this.#waiting.add(sender, begin)
      signal?.addEventListener('abort', leave)
      this.#schedule()
    })
  }

  end(): void {
    this.#isTaken = false
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isTaken || this.#waiting.size === 0) return
    this.#isTaken = true
    setImmediate(this.#beginNext)
  }

  /** Begins the next turn; all that waited may have been cancelled since it was scheduled. */
  readonly #beginNext = (): void => {
    const next = this.#waiting.take()
    if (next === undefined) this.#isTaken = false
    else next.entry()
  }
}
