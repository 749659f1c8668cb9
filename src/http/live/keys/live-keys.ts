import type { LiveLimits } from '../../../limits/live.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import { TagHistory } from '../../cache/tag-history.ts'
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
  #follows = 0
  #bytes = 0

  constructor({ limits, fanOut, data, onEvaluation, onDelivery }: LiveKeysOptions) {
    this.limits = limits
    this.fanOut = fanOut
    this.onDelivery = onDelivery
    this.#data = data
    this.#onEvaluation = onEvaluation
    this.#queue = new EvaluationQueue(limits)
  }

  get versionNow(): string | null {
    return this.#data.now().version
  }

  get isListening(): boolean {
    return this.#data.isListening
  }

  /** Returns whether a stream may follow so many responses more. */
  hasRoom(follows: number): boolean {
    return this.#follows + follows <= this.limits.follows
  }

  /** Returns whether a stream may begin that needs so many responses. */
  canOpen(sender: string, responses: number): boolean {
    return this.#queue.hasRoom(sender, responses)
  }

  /** Returns whether a result that clients choose may be kept: it is followed already, or there is memory for one more. */
  hasRoomFor(name: string): boolean {
    return this.#keys.has(name) || this.#bytes < this.limits.keyBytes
  }

  /** Returns whether a response is followed and up to date, so that another stream gets it at once. */
  isServed(name: string): boolean {
    return this.#keys.get(name)?.isServed ?? false
  }

  onBytes(bytes: number): void {
    this.#bytes += bytes
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

  async evaluate(key: LiveKey): Promise<TimedEvaluation> {
    let begunAt = 0
    const evaluation = await this.#queue.forKey(async () => {
      this.#onEvaluation()
      begunAt = this.#history.count
      key.begin()
      const started = performance.now()
      return { ...(await key.source.evaluate()), milliseconds: performance.now() - started }
    })
    const { tags, version } = evaluation.response.origin
    this.#tag(key, tags)
    if (!this.#isUnchanged(key, begunAt)) key.change()
    // What a client asks for after it has had this must not come older, from the cache.
    if (version !== null) await this.#data.untilNotified({ seq: Number.parseInt(version, 10) })
    return evaluation
  }

  /**
   * Keeps room for responses that a stream will follow later, unless it closes before.
   * @returns gives it back; further calls have no effect
   */
  reserve(follows: number, connection: LiveConnection): () => void {
    let reserved = follows
    this.#follows += reserved
    const giveBack = (): void => {
      this.#follows -= reserved
      reserved = 0
    }
    connection.onClose(giveBack)
    return giveBack
  }

  /** Makes a stream follow a source until it closes. */
  follow(source: LiveSource, connection: LiveConnection): void {
    const key = this.#keys.get(source.name) ?? new LiveKey(source, this)
    this.#keys.set(source.name, key)
    const remove = key.add(connection)
    this.#follows++
    if (!this.isListening) connection.tellStale(source.staleFrame)
    connection.onClose(() => {
      remove()
      this.#follows--
      if (!key.isUnused) return
      this.#keys.delete(source.name)
      this.#untag(key)
    })
  }

  /** Notes what a commit changed: anything, if it has no tags, which no batch of facts writes. */
  committed(tags: readonly string[]): void {
    if (tags.length === 0) return this.#changeAll()
    this.#history.change(tags)
    const changed = new Set([...tags, anyCommit].flatMap((tag) => [...(this.#byTag.get(tag) ?? [])]))
    for (const key of changed) key.change()
  }

  listening(isListening: boolean): void {
    if (isListening) return this.#changeAll()
    this.#history.forget()
    for (const key of this.#keys.values()) key.loseTouch()
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
