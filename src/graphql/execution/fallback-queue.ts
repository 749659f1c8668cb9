import type { Cancellation } from '../../database/cancellation.ts'
import { ReadCancelled } from '../../database/errors.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import { FairQueue, type NetworkOf } from './admission/fair-queue.ts'
import type { RequestContext } from './context.ts'

/** Reasons why graphql-js executes an operation in place of the compiled one. */
export const fallbackReasons = ['error', 'not compiled'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

export interface FallbackOptions {
  /** Called for each execution. */
  readonly onFallback?: ((reason: FallbackReason) => void) | undefined
  /** Finds networks of senders, each of which counts as one sender; without it there are none. */
  readonly networkOf?: NetworkOf | undefined
}

/**
 * The executions by graphql-js, which block the event loop. Of each reason one starts per iteration; after one that blocked
 * for long, such as introspection, the next starts when as much time has passed, because other requests need several
 * iterations. Senders take turns. Admission control pauses after those that are not compiled; it would never start anything if
 * it paused after both.
 */
export class FallbackQueue {
  readonly #admission: Pick<AdmissionControl, 'pause'>
  readonly #onFallback: FallbackOptions['onFallback']
  readonly #lines: Readonly<Record<FallbackReason, Line>>

  constructor(admission: Pick<AdmissionControl, 'pause'>, { onFallback, networkOf }: FallbackOptions = {}) {
    this.#admission = admission
    this.#onFallback = onFallback
    this.#lines = { error: new Line(networkOf), 'not compiled': new Line(networkOf) }
  }

  /**
   * Starts an execution in its sender's turn among those of its reason.
   * @throws {ReadCancelled} if the signal is aborted before the execution starts
   */
  async run<Result>(
    reason: FallbackReason,
    requestContext: Pick<RequestContext, 'sender' | 'signal'>,
    execute: () => Result | Promise<Result>,
  ): Promise<Result> {
    this.#onFallback?.(reason)
    await this.#lines[reason].turn(requestContext)
    const since = performance.now()
    const running = (async () => execute())()
    void this.#pauseAfter(reason, performance.now() - since)
    return running
  }

  /** Ends a turn when the execution has left the event loop to others. */
  async #pauseAfter(reason: FallbackReason, blockedMilliseconds: number): Promise<void> {
    if (blockedMilliseconds > 1) {
      if (reason === 'not compiled') await this.#admission.pause(blockedMilliseconds)
      else await new Promise((resolve) => setTimeout(resolve, blockedMilliseconds))
    }
    this.#lines[reason].end()
  }
}

/** An execution that waits for its turn. */
interface Waiting {
  readonly signal: Cancellation | undefined
  readonly begin: () => void
  readonly cancel: () => void
}

/** The executions of one reason, one after the other. */
class Line {
  readonly #waiting: FairQueue<Waiting>
  /** Whether the turn of an execution is scheduled, or has not ended. */
  #isTaken = false

  constructor(networkOf: NetworkOf | undefined) {
    this.#waiting = new FairQueue(networkOf)
  }

  /**
   * Resolves in the sender's turn, which ends by `end`.
   * @throws {ReadCancelled}
   */
  turn({ sender, signal }: Pick<RequestContext, 'sender' | 'signal'>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(sender, { signal, begin: resolve, cancel: () => reject(new ReadCancelled()) })
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

  /** Begins the next turn; those that were cancelled take none. */
  readonly #beginNext = (): void => {
    for (let next = this.#waiting.take(); next !== undefined; next = this.#waiting.take()) {
      if (next.signal?.aborted !== true) return next.begin()
      next.cancel()
    }
    this.#isTaken = false
  }
}
