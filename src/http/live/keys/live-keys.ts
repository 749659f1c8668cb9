import type { LiveLimits } from '../../../limits/live.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import { TagHistory } from '../../cache/tag-history.ts'
import { Budget } from '../../server/capacity/budget.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { EvaluationQueue } from './evaluation-queue.ts'
import { LiveKey, type LiveKeyHost } from './live-key.ts'
import type { LiveSource, TimedEvaluation } from './live-source.ts'

export interface LiveKeysOptions {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly data: DataVersions
  readonly onEvaluation: () => void
  readonly onDelivery: () => void
}

/** Tag of the keys that any commit may change. */
const anyCommit = 'any commit'

/** The keys that streams of a process follow, by name and by the cache tags of their data. */
export class LiveKeys implements LiveKeyHost {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly onDelivery: () => void
  readonly #data: DataVersions
  readonly #onEvaluation: () => void
  readonly #queue: EvaluationQueue
  readonly #keys = new Map<string, LiveKey>()
  readonly #byTag = new Map<string, Set<LiveKey>>()
  readonly #history = new TagHistory()
  /** How often commits ceased to be heard of. */
  #losses = 0
  /** Responses that streams follow. */
  readonly #follows: Budget
  /** Bytes of responses that are kept for streams, each counted for the sender that followed it first. */
  readonly #bytes: Budget

  constructor({ limits, fanOut, data, onEvaluation, onDelivery }: LiveKeysOptions) {
    this.limits = limits
    this.fanOut = fanOut
    this.onDelivery = onDelivery
    this.#data = data
    this.#onEvaluation = onEvaluation
    this.#queue = new EvaluationQueue(limits)
    this.#follows = new Budget(limits.follows)
    this.#bytes = new Budget(limits.keyBytes)
  }

  get versionNow(): string | null {
    return this.#data.currentStamp().version
  }

  get isListening(): boolean {
    return this.#data.isListening
  }

  /** Returns whether a stream may follow so many responses more: half of what others leave, with its sender's other streams. */
  hasRoom(sender: string, follows: number): boolean {
    return this.#follows.hasRoom(sender, follows)
  }

  /** Returns whether a stream may begin that needs so many responses. */
  canOpen(sender: string, responses: number): boolean {
    return this.#queue.hasRoom(sender, responses)
  }

  /**
   * Returns whether a response may be kept for a sender's stream: it is followed already, or the sender's share of the
   * memory is not full.
   */
  hasRoomFor(sender: string, name: string): boolean {
    return this.#keys.has(name) || this.#bytes.hasRoom(sender, 1)
  }

  /** Returns whether a response is followed and up to date, so that another stream gets it at once. */
  isServed(name: string): boolean {
    return this.#keys.get(name)?.isServed ?? false
  }

  onBytes(owner: string, bytes: number): void {
    this.#bytes.add(owner, bytes)
  }

  /**
   * Makes the first response of a stream, with the limit on those that are made at once.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  open<Result>(sender: string, isWanted: () => boolean, evaluate: () => Promise<Result>): Promise<Result> {
    return this.#queue.forOpening(sender, isWanted, () => {
      this.#onEvaluation()
      return evaluate()
    })
  }

  /**
   * @throws {Error} if commits ceased to be heard of meanwhile, or were heard of again from a server that is behind the result:
   *   its client must not go back from what an earlier server showed
   */
  async evaluate(key: LiveKey): Promise<TimedEvaluation> {
    const isWanted = (): boolean => !key.isUnused
    const { begun, ...evaluation } = await this.#queue.forKey(key.owner, isWanted, async () => {
      this.#onEvaluation()
      const begun = { changes: this.#history.count, losses: this.#losses, isListening: this.isListening }
      key.begin()
      const started = performance.now()
      return { begun, ...(await key.source.evaluate()), milliseconds: performance.now() - started }
    })
    const { tags, version } = evaluation.response.origin
    this.#tag(key, tags)
    if (!this.#isUnchanged(key, begun.changes)) key.change()
    // What a client asks for after it has had this must not come older, from the cache.
    const seq = version === null ? 0 : Number.parseInt(version, 10)
    await this.#data.untilNotified({ seq })
    const isOfServer = begun.isListening || !this.isListening || seq === 0 || this.#data.hasReached({ seq })
    if (begun.losses !== this.#losses || !isOfServer) throw new Error('The result may be of another server.')
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

  /** Makes a stream follow a source until it closes. */
  follow(source: LiveSource, connection: LiveConnection): void {
    const { sender } = connection
    const key = this.#keys.get(source.name) ?? new LiveKey(source, this, sender)
    this.#keys.set(source.name, key)
    const remove = key.add(connection)
    this.#follows.add(sender, 1)
    if (!this.isListening) connection.sendStale(source.staleFrame)
    connection.onClose(() => {
      remove()
      this.#follows.giveBack(sender, 1)
      if (!key.isUnused) return
      this.#keys.delete(source.name)
      this.#untag(key)
    })
  }

  /** Notes what a commit changed. No tags mean that it is not known: it is the first report of a connection. */
  committed(tags: readonly string[]): void {
    if (tags.length === 0) return this.#changeAll()
    this.#history.change(tags)
    const changed = new Set([...tags, anyCommit].flatMap((tag) => [...(this.#byTag.get(tag) ?? [])]))
    for (const key of changed) key.change()
  }

  listening(isListening: boolean): void {
    this.#history.forget()
    if (!isListening) this.#losses++
    for (const key of this.#keys.values()) {
      if (isListening) key.regainTouch()
      else key.loseTouch()
    }
  }

  #changeAll(): void {
    this.#history.forget()
    for (const key of this.#keys.values()) key.change()
  }

  #isUnchanged({ tags }: LiveKey, since: number): boolean {
    return tags === null ? this.#history.count === since : this.#history.isUnchanged([...tags], since)
  }

  #tag(key: LiveKey, tags: ReadonlySet<string> | null): void {
    if (this.#keys.get(key.source.name) !== key) return
    this.#untag(key)
    key.tags = tags
    for (const tag of tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag) ?? new Set()
      this.#byTag.set(tag, tagged.add(key))
    }
  }

  #untag(key: LiveKey): void {
    for (const tag of key.tags ?? [anyCommit]) {
      const tagged = this.#byTag.get(tag)
      tagged?.delete(key)
      if (tagged?.size === 0) this.#byTag.delete(tag)
    }
  }
}
