import { setTimeout as wait } from 'node:timers/promises'
import { measureBusyTime } from '../../../graphql/execution/admission/busy-time.ts'

/** Longest rest, in milliseconds: a group that waits for the database takes long, while others keep the event loop busy. */
const longestRest = 100

/**
 * The pace at which all streams together produce old rows, which are read from the database. After a group of rows the next
 * one waits for as long as the event loop was busy longer than idle, so that half of the time is left to requests.
 */
export class RowPace {
  /** When the next group may begin, in milliseconds of the monotonic clock. */
  #nextAt = 0

  /** Produces a group of rows after the rest. */
  async produce<Result>(group: () => Promise<Result>): Promise<Result> {
    await this.#rest()
    const busyTime = measureBusyTime()
    try {
      return await group()
    } finally {
      this.#nextAt = Math.max(this.#nextAt, performance.now() + Math.min(longestRest, busyTime()))
    }
  }

  /** Waits until a group may begin: others may end meanwhile, and prolong the rest. */
  async #rest(): Promise<void> {
    for (let left = this.#nextAt - performance.now(); left > 0; left = this.#nextAt - performance.now())
      await wait(left)
  }
}
