import { BaseError } from 'viem'

/** Number of newest answers of a node whose times are kept: any of them may be long, and take long. */
const keptTimes = 4

/** Measures the times in which a node answers requests. */
export class AnswerTimes {
  #newest: readonly number[] = []

  /** Milliseconds of the quickest of the newest answers; null before the first one, Infinity after none in time. */
  get quickestMilliseconds(): number | null {
    return this.#newest.length === 0 ? null : Math.min(...this.#newest)
  }

  /** Measures one request. */
  async measure<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    const start = performance.now()
    try {
      const answer = await request()
      this.#add(performance.now() - start)
      return answer
    } catch (error) {
      this.#addFailure(error, performance.now() - start)
      throw error
    }
  }

  #add(milliseconds: number): void {
    this.#newest = [...this.#newest, milliseconds].slice(-keptTimes)
  }

  /** Adds a failure: a quick one does not show how long answers take. */
  #addFailure(error: unknown, milliseconds: number): void {
    if (isLate(error)) this.#newest = Array<number>(keptTimes).fill(Infinity)
    else if (milliseconds > (this.quickestMilliseconds ?? Infinity)) this.#add(milliseconds)
  }
}

/** Returns whether an error says that a node did not answer in time, or accept a connection. */
export function isLate(error: unknown): boolean {
  const isTimeout = (one: unknown): boolean => one instanceof Error && one.name.endsWith('TimeoutError')
  return error instanceof BaseError && error.walk(isTimeout) !== null
}
