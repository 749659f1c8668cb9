import { Budget } from '../../../fairness/budget.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { Evaluator, type EvaluatorOptions } from './evaluation/evaluator.ts'
import type { SharedQuery } from './shared-query.ts'
import { SharedResponse, type SharedResponseParts } from './shared-response.ts'
import { ResponsesByTag } from './responses-by-tag.ts'

export interface SharedResponsesOptions extends EvaluatorOptions {
  readonly fanOut: FanOut
  readonly onDelivery: () => void
}

/** The shared responses of a process, by name and by the cache tags of their data. */
export class SharedResponses {
  readonly evaluator: Evaluator
  readonly #parts: SharedResponseParts
  readonly #byName = new Map<string, SharedResponse>()

  constructor(options: SharedResponsesOptions) {
    const { limits, fanOut, versions, onDelivery } = options
    this.evaluator = new Evaluator(options)
    this.#parts = {
      limits,
      fanOut,
      versions,
      onDelivery,
      evaluator: this.evaluator,
      byTag: new ResponsesByTag(),
      follows: new Budget(limits.follows),
      storedBytes: new Budget(limits.responseBytes),
    }
  }

  /**
   * Reserves room for the responses that a stream will follow: a fair share of all, with its sender's other streams.
   * @returns gives it back, once; null where there is none
   */
  reserve(sender: string, responses: number): (() => void) | null {
    const { follows } = this.#parts
    if (!follows.take(sender, responses)) return null
    let reserved = responses
    return () => {
      follows.giveBack(sender, reserved)
      reserved = 0
    }
  }

  /**
   * Returns whether a response may be kept for a sender's stream: it is shared already, or the sender's share of the
   * memory is not full.
   */
  canStore(sender: string, name: string): boolean {
    return this.#byName.has(name) || this.#parts.storedBytes.hasRoom(sender, 1)
  }

  /** Returns whether a response is shared and up to date, so that another stream gets it at once. */
  isUpToDate(name: string): boolean {
    return this.#byName.get(name)?.isUpToDate ?? false
  }

  /**
   * Makes a stream follow a query until it closes.
   * @param hasFailed whether the query's evaluation before the stream failed: the stream begins with `stale` then, unless
   *   the response is up to date by now
   */
  follow(query: SharedQuery, connection: LiveConnection, hasFailed = false): void {
    const { sender } = connection
    const { byTag, follows } = this.#parts
    const response = this.#byName.get(query.name) ?? new SharedResponse(query, this.#parts, sender)
    this.#byName.set(query.name, response)
    follows.add(sender, 1)
    if (hasFailed && !response.isUpToDate) response.becomeUncertain()
    const remove = response.add(connection)
    connection.onClose(() => {
      remove()
      follows.giveBack(sender, 1)
      if (!response.isUnused) return
      this.#byName.delete(query.name)
      byTag.delete(response)
    })
  }

  /** Notes what a commit changed; null in the first report of a connection: anything may have changed before it. */
  committed(tags: readonly string[] | null): void {
    if (tags !== null) return this.#parts.byTag.committed(tags)
    for (const response of this.#byName.values()) response.invalidate()
  }

  /** Notes that notifications of commits have begun or stopped. */
  listening(isListening: boolean): void {
    for (const response of this.#byName.values()) {
      if (isListening) response.onListeningResumed()
      else response.becomeUncertain()
    }
  }
}
