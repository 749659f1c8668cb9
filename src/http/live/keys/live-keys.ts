import type { LiveLimits } from '../../../limits/live.ts'
import { limitConcurrency, type LimitConcurrency } from '../../async/limit-concurrency.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import { TagHistory } from '../../cache/tag-history.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { type Evaluation, LiveKey, type LiveKeyHost, type LiveSource } from './live-key.ts'

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
  readonly #limit: LimitConcurrency
  readonly #keys = new Map<string, LiveKey>()
  readonly #byTag = new Map<string, Set<LiveKey>>()
  readonly #history = new TagHistory()

  constructor({ limits, fanOut, data, onEvaluation, onDelivery }: LiveKeysOptions) {
    this.limits = limits
    this.fanOut = fanOut
    this.onDelivery = onDelivery
    this.#data = data
    this.#onEvaluation = onEvaluation
    this.#limit = limitConcurrency(limits.evaluations)
  }

  get versionNow(): string | null {
    return this.#data.now().version
  }

  get isListening(): boolean {
    return this.#data.isListening
  }

  /** Makes a response with the limit on those that are made at once, such as the first one of a stream. */
  limited(evaluate: () => Promise<Evaluation>): Promise<Evaluation> {
    this.#onEvaluation()
    return this.#limit(evaluate)
  }

  async evaluate(key: LiveKey): Promise<Evaluation> {
    let begunAt = 0
    const evaluation = await this.limited(() => {
      begunAt = this.#history.count
      key.begin()
      return key.source.evaluate()
    })
    this.#tag(key, evaluation.response.origin.tags)
    if (!this.#isUnchanged(key, begunAt)) key.change()
    return evaluation
  }

  /** Makes a stream follow a source until it closes. */
  follow(source: LiveSource, connection: LiveConnection): void {
    const key = this.#keys.get(source.name) ?? new LiveKey(source, this)
    this.#keys.set(source.name, key)
    const remove = key.add(connection)
    if (!this.isListening) connection.tellStale(source.staleFrame)
    connection.onClose(() => {
      remove()
      if (!key.isUnused) return
      this.#keys.delete(source.name)
      this.#untag(key)
    })
  }

  /** Notes what a commit changed; without tags, that anything may have changed. */
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
