import type { LiveLimits } from '../../../limits/live.ts'

/** When the evaluations of one response begin: each is followed by a rest, so that slow ones take a part of the time only. */
export class EvaluationPace {
  readonly #factor: number
  readonly #evaluate: () => void
  /** The earliest time of the next evaluation, in milliseconds of the monotonic clock. */
  #nextAt = 0
  #timer: NodeJS.Timeout | undefined

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
    this.#nextAt = performance.now() + Math.max(milliseconds, this.#factor * taken)
  }

  /** Shortens the rest: an outage, which made evaluations take long, is over. */
  shortenTo(milliseconds: number): void {
    this.#nextAt = Math.min(this.#nextAt, performance.now() + milliseconds)
    this.cancel()
  }
}
