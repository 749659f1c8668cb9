import { type Cancellation, throwIfCancelled } from '../../database/cancellation.ts'
import type { AdmissionControl } from './admission/admission-control.ts'

/** Reasons why graphql-js executes an operation in place of the compiled one. */
export const fallbackReasons = ['error', 'not compiled'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

/** An execution that has started, and how long its synchronous part has blocked the event loop. */
interface Started<Result> {
  readonly running: Promise<Result>
  readonly blockedMilliseconds: number
}

/**
 * The executions by graphql-js, which block the event loop. Of each reason one starts per iteration; after one that blocked
 * for long, such as introspection, the next starts when as much time has passed, because other requests need several
 * iterations. Admission control pauses after those that are not compiled; it would never start anything if it paused after both.
 */
export class FallbackQueue {
  readonly #admission: Pick<AdmissionControl, 'pause'>
  readonly #onFallback: ((reason: FallbackReason) => void) | undefined
  /** Resolved when the last execution of a reason has left the event loop to others. */
  readonly #last = new Map<FallbackReason, Promise<void>>()

  /** @param onFallback called for each execution */
  constructor(admission: Pick<AdmissionControl, 'pause'>, onFallback: ((reason: FallbackReason) => void) | undefined) {
    this.#admission = admission
    this.#onFallback = onFallback
  }

  /**
   * Starts an execution after all earlier ones of its reason.
   * @throws {ReadCancelled} if the signal is aborted before the execution starts
   */
  async run<Result>(
    reason: FallbackReason,
    signal: Cancellation | undefined,
    execute: () => Result | Promise<Result>,
  ): Promise<Result> {
    this.#onFallback?.(reason)
    const started = this.#startAfter(this.#last.get(reason), signal, execute)
    this.#last.set(reason, this.#pauseAfter(reason, started))
    return (await started).running
  }

  async #startAfter<Result>(
    before: Promise<void> | undefined,
    signal: Cancellation | undefined,
    execute: () => Result | Promise<Result>,
  ): Promise<Started<Result>> {
    await before
    await new Promise((resolve) => setImmediate(resolve))
    throwIfCancelled(signal)
    const since = performance.now()
    const running = (async () => execute())()
    return { running, blockedMilliseconds: performance.now() - since }
  }

  async #pauseAfter(reason: FallbackReason, starting: Promise<Started<unknown>>): Promise<void> {
    const { blockedMilliseconds } = await starting.catch(() => ({ blockedMilliseconds: 0 }))
    if (blockedMilliseconds <= 1) return
    if (reason === 'not compiled') await this.#admission.pause(blockedMilliseconds)
    else await new Promise((resolve) => setTimeout(resolve, blockedMilliseconds))
  }
}
