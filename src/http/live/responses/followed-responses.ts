import type { LiveLimits } from '../../../limits/live.ts'
import { Budget } from '../../../graphql/execution/admission/budget.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import { Evaluator, type EvaluatorOptions } from './evaluation/evaluator.ts'
import { FollowedResponse, type FollowedResponseHost } from './followed-response.ts'
import type { FollowedQuery, TimedEvaluation } from './followed-query.ts'
import { ResponsesByTag } from './responses-by-tag.ts'

export interface FollowedResponsesOptions extends EvaluatorOptions {
  readonly fanOut: FanOut
  readonly onDelivery: () => void
}

/** The responses that streams of a process follow, by name and by the cache tags of their data. */
export class FollowedResponses implements FollowedResponseHost {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly onDelivery: () => void
  /** Numbers of responses that the streams of senders follow. */
  readonly follows: Budget
  readonly evaluator: Evaluator
  readonly #versions: DataVersions
  readonly #byName = new Map<string, FollowedResponse>()
  readonly #byTag = new ResponsesByTag()
  /** Bytes of responses that are kept for streams, each counted for the sender that followed it first. */
  readonly #bytes: Budget

  constructor(options: FollowedResponsesOptions) {
    const { limits, fanOut, versions, onDelivery } = options
    this.limits = limits
    this.fanOut = fanOut
    this.onDelivery = onDelivery
    this.evaluator = new Evaluator(options)
    this.#versions = versions
    this.follows = new Budget(limits.follows)
    this.#bytes = new Budget(limits.responseBytes)
  }

  get versionNow(): string | null {
    return this.#versions.currentState().version
  }

  get isListening(): boolean {
    return this.#versions.isListening
  }

  /** Returns whether a stream may follow so many responses more: a fair share of all, with its sender's other streams. */
  canFollow(sender: string, follows: number): boolean {
    return this.follows.hasRoom(sender, follows)
  }

  /**
   * Returns whether a response may be kept for a sender's stream: it is followed already, or the sender's share of the
   * memory is not full.
   */
  canStore(sender: string, name: string): boolean {
    return this.#byName.has(name) || this.#bytes.hasRoom(sender, 1)
  }

  /** Returns whether a response is followed and up to date, so that another stream gets it at once. */
  isUpToDate(name: string): boolean {
    return this.#byName.get(name)?.isUpToDate ?? false
  }

  onBytes(sender: string, bytes: number): void {
    this.#bytes.add(sender, bytes)
  }

  evaluate(followed: FollowedResponse): Promise<TimedEvaluation> {
    return this.evaluator.forFollowed(followed, (tags) => {
      if (!followed.isUnused) this.#byTag.set(followed, tags)
    })
  }

  /**
   * Keeps room for responses that a stream will follow later, unless it closes before.
   * @returns gives it back; further calls have no effect
   */
  reserve(follows: number, connection: LiveConnection): () => void {
    const { sender } = connection
    let reserved = follows
    this.follows.add(sender, reserved)
    const giveBack = (): void => {
      this.follows.giveBack(sender, reserved)
      reserved = 0
    }
    connection.onClose(giveBack)
    return giveBack
  }

  /** Makes a stream follow a query until it closes. */
  follow(query: FollowedQuery, connection: LiveConnection): void {
    const { sender } = connection
    const followed = this.#byName.get(query.name) ?? new FollowedResponse(query, this, sender)
    this.#byName.set(query.name, followed)
    const remove = followed.add(connection)
    this.follows.add(sender, 1)
    followed.senders.joined(sender)
    if (!this.isListening) connection.sendStale(query.staleFrame)
    connection.onClose(() => {
      remove()
      followed.senders.left(sender)
      this.follows.giveBack(sender, 1)
      if (!followed.isUnused) return
      this.#byName.delete(query.name)
      this.#byTag.delete(followed)
    })
  }

  /** Notes what a commit changed; null in the first report of a connection: anything may have changed before it. */
  committed(tags: readonly string[] | null): void {
    this.evaluator.committed(tags)
    const changed = tags === null ? this.#byName.values() : this.#byTag.changedBy(tags)
    for (const followed of changed) followed.invalidate()
  }

  /** Notes that notifications of commits have begun or stopped. */
  listening(isListening: boolean): void {
    this.evaluator.listening(isListening)
    for (const followed of this.#byName.values()) {
      if (isListening) followed.onListeningResumed()
      else followed.becomeUncertain()
    }
  }
}
