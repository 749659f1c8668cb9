import type { LiveLimits } from '../../../limits/live.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import { TagChanges } from '../../cache/tag-changes.ts'
import { Budget } from '../../server/capacity/budget.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { EvaluationQueue } from './evaluation-queue.ts'
import { FollowedResponse, type FollowedResponseHost } from './followed-response.ts'
import type { FollowedQuery, TimedEvaluation } from './followed-query.ts'

export interface FollowedResponsesOptions {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly versions: DataVersions
  readonly onEvaluation: () => void
  readonly onDelivery: () => void
}

/** Tag of the followed responses that any commit may change. */
const anyCommit = 'any commit'

/** The responses that streams of a process follow, by name and by the cache tags of their data. */
export class FollowedResponses implements FollowedResponseHost {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly onDelivery: () => void
  readonly #versions: DataVersions
  readonly #onEvaluation: () => void
  readonly #queue: EvaluationQueue
  readonly #byName = new Map<string, FollowedResponse>()
  readonly #byTag = new Map<string, Set<FollowedResponse>>()
  readonly #changes = new TagChanges()
  /** How often notifications of commits have stopped. */
  #stops = 0
  /** Responses that streams follow. */
  readonly #follows: Budget
  /** Bytes of responses that are kept for streams, each counted for the sender that followed it first. */
  readonly #bytes: Budget

  constructor({ limits, fanOut, versions, onEvaluation, onDelivery }: FollowedResponsesOptions) {
    this.limits = limits
    this.fanOut = fanOut
    this.onDelivery = onDelivery
    this.#versions = versions
    this.#onEvaluation = onEvaluation
    this.#queue = new EvaluationQueue(limits)
    this.#follows = new Budget(limits.follows)
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
    return this.#follows.hasRoom(sender, follows)
  }

  /** Returns whether a stream may begin that needs so many responses. */
  hasRoomForOpenings(sender: string, responses: number): boolean {
    return this.#queue.hasRoom(sender, responses)
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

  /**
   * Makes the first response of a stream, for its status, with the limit on those that are made at once.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  evaluateForStatus<Result>(sender: string, isWanted: () => boolean, evaluate: () => Promise<Result>): Promise<Result> {
    return this.#queue.forOpening(sender, isWanted, () => {
      this.#onEvaluation()
      return evaluate()
    })
  }

  /**
   * @throws {Error} if notifications of commits stopped meanwhile, or resumed from a server that is behind the result: a
   *   client must not go back to older data than an earlier server's
   */
  async evaluate(followed: FollowedResponse): Promise<TimedEvaluation> {
    const isWanted = (): boolean => !followed.isUnused
    const work = async () => {
      this.#onEvaluation()
      const begun = { changes: this.#changes.count, stops: this.#stops, isListening: this.isListening }
      followed.beginEvaluation()
      const started = performance.now()
      return { begun, ...(await followed.query.evaluate()), milliseconds: performance.now() - started }
    }
    const add = (senders: Iterable<string>) => this.#queue.forFollowed(senders, isWanted, work)
    const { begun, ...evaluation } = await followed.turn.queue(this.#follows, followed.chargedSender, add)
    const { tags, version, isCacheable } = evaluation.response.origin
    this.#tag(followed, isCacheable ? tags : null)
    if (!this.#isUnchanged(followed, begun.changes)) followed.invalidate()
    // Waits until the response cache was notified of this version: a later request must not get an older cached response.
    const seq = version === null ? 0 : Number.parseInt(version, 10)
    await this.#versions.untilNotified({ seq })
    // Notifications have begun meanwhile: their server may not have reached the version of the result yet.
    const mayBeAhead = !begun.isListening && this.isListening && seq > 0 && !this.#versions.hasReached({ seq })
    if (begun.stops !== this.#stops || mayBeAhead) throw new Error('The result may be of another server.')
    return evaluation
  }

  /**
   * Keeps room for responses that a stream will follow later, unless it closes before.
   * @returns gives it back; further calls have no effect
   */
  reserve(follows: number, connection: LiveConnection): () => void {
    const { sender } = connection
    let reserved = follows
    this.#follows.add(sender, reserved)
    const giveBack = (): void => {
      this.#follows.giveBack(sender, reserved)
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
    this.#follows.add(sender, 1)
    followed.turn.joined(this.#follows, sender)
    if (!this.isListening) connection.sendStale(query.staleFrame)
    connection.onClose(() => {
      remove()
      followed.turn.left(this.#follows, sender)
      this.#follows.giveBack(sender, 1)
      if (!followed.isUnused) return
      this.#byName.delete(query.name)
      this.#untag(followed)
    })
  }

  /** Notes what a commit changed; null in the first report of a connection: anything may have changed before it. */
  committed(tags: readonly string[] | null): void {
    if (tags === null) return this.#invalidateAll()
    this.#changes.change(tags)
    const changed = new Set([...tags, anyCommit].flatMap((tag) => [...(this.#byTag.get(tag) ?? [])]))
    for (const followed of changed) followed.invalidate()
  }

  listening(isListening: boolean): void {
    this.#changes.forget()
    if (!isListening) this.#stops++
    for (const followed of this.#byName.values()) {
      if (isListening) followed.onListeningResumed()
      else followed.becomeUncertain()
    }
  }

  #invalidateAll(): void {
    this.#changes.forget()
    for (const followed of this.#byName.values()) followed.invalidate()
  }

  #isUnchanged({ tags }: FollowedResponse, since: number): boolean {
    return tags === null ? this.#changes.count === since : this.#changes.isUnchanged([...tags], since)
  }

  #tag(followed: FollowedResponse, tags: ReadonlySet<string> | null): void {
    if (this.#byName.get(followed.query.name) !== followed) return
    this.#untag(followed)
    followed.tags = tags
    for (const tag of tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag) ?? new Set()
      this.#byTag.set(tag, tagged.add(followed))
    }
  }

  #untag(followed: FollowedResponse): void {
    for (const tag of followed.tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag)
      tagged?.delete(followed)
      if (tagged?.size === 0) this.#byTag.delete(tag)
    }
  }
}
