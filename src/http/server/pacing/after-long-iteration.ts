/**
 * Slow start: decides how many turns waiting connections get in an iteration of the event loop. After a long iteration
 * there are none for twice its duration, or until no connection arrives; then a few, doubled in each iteration.
 */
export class SlowStart {
  #turns = turnsPerIteration
  #restsUntil = 0
  readonly #longMilliseconds: number

  /** @param longMilliseconds minimum duration of a long iteration */
  constructor(longMilliseconds: number) {
    this.#longMilliseconds = longMilliseconds
  }

  /**
   * Returns the number of turns in this iteration; 0 while it rests.
   * @param milliseconds that the iteration, or its reads, took
   * @param hasAccepted whether the iteration accepted connections
   */
  next(milliseconds: number, hasAccepted: boolean): number {
    const now = performance.now()
    if (now >= this.#restsUntil) {
      const wasLong = milliseconds >= this.#longMilliseconds
      const hasRested = this.#restsUntil > 0
      if (wasLong) this.#turns = fewestTurns
      else if (!hasRested) this.#turns = Math.min(2 * this.#turns, turnsPerIteration)
      this.#restsUntil = wasLong ? now + 2 * milliseconds : 0
      // Where all iterations are long, each rest is followed by the fewest turns: nothing waits for ever.
      return wasLong && !hasRested ? 0 : this.#turns
    }
    if (!hasAccepted) this.#restsUntil = 0
    return now >= this.#restsUntil ? this.#turns : 0
  }
}

/** Maximum number of turns in one iteration. */
export const turnsPerIteration = 256
/** Number of turns after a long iteration. */
const fewestTurns = 2

/**
 * Decides when new connections are accepted, and those with input are not read. libuv accepts one connection in each
 * iteration of the event loop: beside many connections that are read for 25 ms each time, hundreds would wait in the
 * kernel's queue for seconds. Such a phase follows a long iteration, or several shorter ones in a row that each accepted a
 * connection, since more of them probably wait. It lasts until no connection arrives, but no longer than these iterations
 * took: half of the time remains for reading, however many arrive.
 */
export class AcceptPhase {
  readonly #longMilliseconds: number
  /** When the phase is over; null outside of one. */
  #until: number | null = null
  /** Milliseconds of the last iterations in a row that accepted a connection, outside of a phase. */
  #accepting = 0

  /** @param longMilliseconds minimum duration of a long iteration */
  constructor(longMilliseconds: number) {
    this.#longMilliseconds = longMilliseconds
  }

  /**
   * Returns whether the next iteration is one of a phase.
   * @param milliseconds that the iteration took
   * @param hasAccepted whether the iteration accepted a connection
   * @param mayBegin whether a phase may follow the iteration where it was long: new connections had no turns in it
   */
  next(milliseconds: number, hasAccepted: boolean, mayBegin: boolean): boolean {
    const now = performance.now()
    if (this.#until === null) {
      this.#accepting = hasAccepted ? this.#accepting + milliseconds : 0
      const isLong = mayBegin && milliseconds >= this.#longMilliseconds
      if (isLong || this.#accepting >= acceptingFactor * this.#longMilliseconds) {
        this.#until = now + Math.max(milliseconds, this.#accepting)
        this.#accepting = 0
      }
    }
    if (!hasAccepted || this.#until === null || now >= this.#until) this.#until = null
    return this.#until !== null
  }
}

/** Time of iterations that accept connections, in times of a long one, after which a phase begins. */
const acceptingFactor = 4
