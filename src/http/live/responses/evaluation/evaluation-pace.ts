import type { LiveLimits } from '../../../../limits/live.ts'

/** Minimum rest after a failed evaluation, in milliseconds, and the part of the first one in succession that counts. */
export const retryMilliseconds = 1_000

/** When the evaluations of one response begin: each is followed by a rest, so that slow ones take a part of the time only. */
export class EvaluationPace {
  readonly #factor: number
  readonly #evaluate: () => void
  /** The earliest time of the next evaluation, in milliseconds of the monotonic clock. */
  #nextAt = 0
  #timer: NodeJS.Timeout | undefined
  /** Number of evaluations in succession after whose failure it rests. */
  #failures = 0

  constructor({ pushFactor }: Pick<LiveLimits, 'pushFactor'>, evaluate: () => void) {
    this.#factor = pushFactor
    this.#evaluate = evaluate
  }

  /** Evaluates once, now or after the rest. */
  schedule(): void {
    if (this.#timer !== undefined) return
    const milliseconds = this.#nextAt - performance.now()
    if (milliseconds <= 0) return this.#evaluate()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#evaluate()
    }, milliseconds)
  }

  /** Cancels the evaluation that is scheduled. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /**
   * Begins a rest.
   * @param milliseconds that it is at least
   * @param taken milliseconds that the last evaluation took
   */
  rest(milliseconds: number, taken: number): void {
    this.#failures = 0
    this.#rest(milliseconds, taken)
  }

  /**
   * Begins a rest after an evaluation that failed for a reason that passes by waiting. In an outage it took long because it
   * waited, and after the outage its streams wait for the next one: of the first one in succession only a second counts. One
   * that always exceeds its deadline rests as long as any other in the end: of each in succession twice as much counts.
   * @param taken milliseconds that it took
   */
  restAfterFailure(taken: number): void {
    this.#rest(retryMilliseconds, Math.min(taken, retryMilliseconds * 2 ** this.#failures))
    this.#failures++
  }

  #rest(milliseconds: number, taken: number): void {
    this.#nextAt = performance.now() + Math.max(milliseconds, this.#factor * taken)
  }

  /** Shortens the rest: an outage, which made evaluations take long, is over. */
  shorten(): void {
    this.#failures = 0
    this.#nextAt = Math.min(this.#nextAt, performance.now() + retryMilliseconds)
    this.cancel()
  }
}
