import { isTransient } from '../../graphql/execution/errors.ts'

/** Reports failures of repeated work: the first unexpected one, and no more until the work succeeds. */
export class FailureReport {
  readonly #report: (error: unknown) => void
  #isReported = false

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  failed(error: unknown): void {
    if (this.#isReported || isTransient(error)) return
    this.#isReported = true
    this.#report(error)
  }

  /** Records that the work has succeeded, or has stopped: its next failure is reported again. */
  reset(): void {
    this.#isReported = false
  }

  /** Returns the result of work. */
  async of<Result>(work: Promise<Result>): Promise<Result> {
    try {
      const result = await work
      this.reset()
      return result
    } catch (error) {
      this.failed(error)
      throw error
    }
  }
}
