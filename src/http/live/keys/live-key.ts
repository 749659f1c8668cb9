import type { LiveLimits } from '../../../limits/live.ts'
import type { EncodedResponse } from '../../cache/encoded-response.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection, Resumable } from '../delivery/live-connection.ts'

/** A response, and the version of the data that it shows; null if that is unknown. */
export interface Evaluation {
  readonly response: EncodedResponse
  readonly version: string | null
}

/** A response that can be followed: how it is made, and how it is written to a stream. */
export interface LiveSource {
  /** Equal for sources with equal responses in equal frames. */
  readonly name: string
  /** Makes the response. */
  readonly evaluate: () => Promise<Evaluation>
  /** Formats a response of status 200. */
  readonly frame: (body: Buffer, version: string | null) => Buffer
  /** Formats any other response, and tells whether the stream ends with it. */
  readonly refusal: (response: EncodedResponse) => { readonly frame: Buffer; readonly isEnd: boolean }
  /** Tells a client that its data may be out of date. */
  readonly staleFrame: Buffer
}

/** The services that all keys of a process share. */
export interface LiveKeyHost {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  /** Version of the newest commit that was heard of; null if it is unknown. */
  readonly versionNow: string | null
  /** Whether commits are heard of. */
  readonly isListening: boolean
  /** Makes the response of a key when its turn has come, and calls its `begin` and `change`. */
  evaluate(key: LiveKey): Promise<Evaluation>
  readonly onDelivery: () => void
}

/** A response as it was pushed last. */
interface Pushed {
  readonly digest: string | null
  readonly body: Buffer
  readonly version: string | null
  readonly frame: Buffer
}

/** Delay before the next evaluation after a failed one, in milliseconds. */
const retryMilliseconds = 1_000

/**
 * A response that streams follow. When its data changes it is made again, once for all of them; if its bytes differ
 * from those before, one buffer is written to all. Two such pushes are a minimum time apart: of several changes in it
 * the newest counts.
 */
export class LiveKey {
  /** Cache tags of the data that the response was made from; null if any commit may change it. */
  tags: ReadonlySet<string> | null = new Set()
  readonly #host: LiveKeyHost
  readonly #subscriptions = new Set<Subscription>()
  /** Number of pushes: a subscription with a smaller one is behind. */
  #revision = 0
  #pushed: Pushed | null = null
  /** Whether the data may have changed since the last evaluation began. */
  #isDirty = true
  /** Whether commits were not heard of since the last push, so that the next one tells clients that all is well. */
  #isUncertain = false
  #isRunning = false
  #timer: NodeJS.Timeout | undefined
  /** The earliest time of the next evaluation, in milliseconds of the monotonic clock. */
  #nextAt = 0

  constructor(
    readonly source: LiveSource,
    host: LiveKeyHost,
  ) {
    this.#host = host
  }

  get isUnused(): boolean {
    return this.#subscriptions.size === 0
  }

  /**
   * Adds a stream, which receives the present response at once, and each later one.
   * @returns removes the stream
   */
  add(connection: LiveConnection): () => void {
    const subscription = new Subscription(connection, this)
    this.#subscriptions.add(subscription)
    if (this.#pushed !== null && !this.#isDirty && !this.#isUncertain) this.deliver(subscription)
    else this.#schedule()
    return () => {
      this.#subscriptions.delete(subscription)
      if (this.isUnused) this.#cancelTimer()
    }
  }

  /** Notes that an evaluation begins: it shows all changes until now. */
  begin(): void {
    this.#isDirty = false
  }

  /** Notes that the data may have changed. */
  change(): void {
    this.#isDirty = true
    this.#schedule()
  }

  /** Notes that commits are not heard of, and tells the streams. */
  loseTouch(): void {
    this.#isUncertain = true
    const { staleFrame } = this.source
    this.#host.fanOut([...this.#subscriptions], ({ connection }) => connection.tellStale(staleFrame))
  }

  /** Writes the newest response to a stream that does not have it. */
  deliver(subscription: Subscription): void {
    const { connection } = subscription
    if (this.#pushed === null || subscription.written === this.#revision) return
    if (!this.#subscriptions.has(subscription)) return
    if (connection.isFull) return connection.whenDrained(subscription)
    subscription.written = this.#revision
    connection.isToldStale = false
    connection.write(this.#frameNow(this.#pushed))
    this.#host.onDelivery()
  }

  #schedule(): void {
    if (this.#isRunning || this.#timer !== undefined || this.isUnused) return
    const milliseconds = this.#nextAt - performance.now()
    if (milliseconds <= 0) return void this.#run()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run()
    }, milliseconds)
  }

  #cancelTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    const evaluation = await this.#host.evaluate(this).catch(() => null)
    this.#isRunning = false
    const status = evaluation?.response.status ?? 503
    if (evaluation === null || status === 503) this.#fail()
    else if (status === 200) this.#take(evaluation)
    else this.#refuse(evaluation.response)
    if (this.#isDirty) this.#schedule()
  }

  #take({ response, version }: Evaluation): void {
    const { etagDigest: digest, bytes: body } = response
    const isSame = this.#pushed !== null && digest !== null && this.#pushed.digest === digest
    const { isListening } = this.#host
    if (!isSame || (this.#isUncertain && isListening)) {
      this.#revision++
      this.#nextAt = performance.now() + this.#host.limits.pushMilliseconds
    }
    if (isListening) this.#isUncertain = false
    this.#pushed = { digest, body, version, frame: this.source.frame(body, version) }
    const behind = [...this.#subscriptions].filter(({ written }) => written !== this.#revision)
    this.#host.fanOut(behind, (subscription) => this.deliver(subscription))
  }

  #fail(): void {
    this.loseTouch()
    this.#isDirty = true
    this.#nextAt = performance.now() + retryMilliseconds
  }

  #refuse(response: EncodedResponse): void {
    const { frame, isEnd } = this.source.refusal(response)
    this.#pushed = null
    this.#nextAt = performance.now() + retryMilliseconds
    this.#host.fanOut([...this.#subscriptions], ({ connection }) => {
      if (isEnd) connection.end(frame)
      else if (!connection.isFull) connection.write(frame)
    })
  }

  /** Returns the frame, with the newest version at which the response is known to be the same. */
  #frameNow({ body, version, frame }: Pushed): Buffer {
    const { versionNow } = this.#host
    const newest = this.#isDirty ? version : laterVersion(version, versionNow)
    if (newest === version) return frame
    const renewed = this.source.frame(body, newest)
    if (this.#pushed !== null) this.#pushed = { ...this.#pushed, version: newest, frame: renewed }
    return renewed
  }
}

/** The place of one stream among those that follow a key. */
class Subscription implements Resumable {
  /** Revision of the key that was written last; 0 before the first. */
  written = 0

  constructor(
    readonly connection: LiveConnection,
    readonly key: LiveKey,
  ) {}

  resume(): void {
    this.key.deliver(this)
  }
}

/** Returns the later one of two data versions of one history. */
export function laterVersion(first: string | null, second: string | null): string | null {
  if (first === null || second === null) return first ?? second
  return Number.parseInt(second, 10) > Number.parseInt(first, 10) ? second : first
}
