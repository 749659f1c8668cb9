import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { Cancellation } from '../../../database/cancellation.ts'
import { limitConcurrency } from '../../../graphql/execution/admission/limit-concurrency.ts'
import { liveLimits, type LiveLimits } from '../../../limits/live.ts'
import { within } from '../../async/within.ts'
import { networkOf } from '../../sender.ts'

/**
 * The pace at which all streams produce ledger rows. Their clients take turns, a group of rows each; after it no further
 * one begins for as long as the event loop was busy beyond half of its time, so that requests are served in between.
 */
export class RowPace {
  readonly #limit
  readonly #groupMilliseconds: number
  /** When the next group may begin, in milliseconds of the monotonic clock. */
  #nextAt = 0

  constructor({
    rowGroups,
    rowGroupMilliseconds,
  }: Pick<LiveLimits, 'rowGroups' | 'rowGroupMilliseconds'> = liveLimits) {
    this.#limit = limitConcurrency(rowGroups, networkOf)
    this.#groupMilliseconds = rowGroupMilliseconds
  }

  /**
   * Produces a group of rows in the turn of its client. Others take theirs after some time, even if it is not ready.
   * @throws {ReadCancelled} if the signal is aborted before the turn
   */
  async produce<Result>(sender: string, group: () => Promise<Result>, signal: Cancellation): Promise<Result> {
    const { producing } = await this.#limit(
      sender,
      async () => {
        await this.#rest()
        const before = performance.eventLoopUtilization()
        const working = group()
        await within(this.#groupMilliseconds, working)
        const { active, idle } = performance.eventLoopUtilization(before)
        this.#nextAt = Math.max(this.#nextAt, performance.now() + active - idle)
        return { producing: working }
      },
      signal,
    )
    return producing
  }

  /** Waits until a group may begin: others may end meanwhile, and prolong the rest. */
  async #rest(): Promise<void> {
    for (let left = this.#nextAt - performance.now(); left > 0; left = this.#nextAt - performance.now())
      await wait(left)
  }
}
