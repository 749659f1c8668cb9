import type { LiveLimits } from '../../../limits/live.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { EvaluationPace, retryMilliseconds } from './evaluation/evaluation-pace.ts'
import { type Follows, TurnSenders } from './evaluation/turn-senders.ts'
import { laterVersion, type FollowedQuery, type TimedEvaluation } from './followed-query.ts'
import { type PushedResponse, pushedResponse } from './pushed-response.ts'
import { ResponseFollower } from './response-follower.ts'

/** The services that all followed responses of a process share. */
export interface FollowedResponseHost {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly follows: Follows
  /** Version of the newest commit that this process was notified of; null if it is unknown. */
  readonly versionNow: string | null
  /** Whether notifications of commits arrive. */
  readonly isListening: boolean
  /** Evaluates a response when its turn has come, and calls its `beginEvaluation` and `invalidate`. */
  evaluate(followed: FollowedResponse): Promise<TimedEvaluation>
  readonly onDelivery: () => void
  /** Called with the change of the bytes that are stored for a response, and the sender of the stream for which it was made. */
  readonly onBytes: (sender: string, bytes: number) => void
}

/**
 * A response that streams follow. When its data changes it is evaluated again, once for all of them; if its bytes differ
 * from those before, one buffer is written to all. Two such pushes are a minimum time apart: of several changes in it
 * the newest counts. After each evaluation the next one waits some times as long as it took, whatever its result.
 */
export class FollowedResponse {
  /** Cache tags of the data that the response was made from; null if any commit may change it. */
  tags: ReadonlySet<string> | null = new Set()
  readonly #host: FollowedResponseHost
  readonly followers = new Set<ResponseFollower>()
  /** The senders in whose turns it is evaluated. */
  readonly senders: TurnSenders
  /** Number of evaluations that have begun. */
  #evaluations = 0
  /** Number of pushes: a follower with a smaller one is behind. */
  #revision = 0
  #pushed: PushedResponse | null = null
  /** The frame that tells that there is no response any more; null if there is one. */
  #refusal: Buffer | null = null
  /** Whether the data may have changed since the last evaluation began. */
  #isDirty = true
  /** Whether clients may have old data since the last push: notifications of commits stopped, or an evaluation failed. */
  #isUncertain: boolean
  /** While a response is evaluated what was pushed last may be out of date. The next one waits until all have this one. */
  #phase: 'idle' | 'waiting for its turn' | 'evaluating' | 'delivering' = 'idle'
  readonly #pace: EvaluationPace

  constructor(
    readonly query: FollowedQuery,
    host: FollowedResponseHost,
    readonly chargedSender: string,
  ) {
    this.#host = host
    this.senders = new TurnSenders(this.followers, host.follows, chargedSender)
    this.#isUncertain = !host.isListening
    this.#pace = new EvaluationPace(host.limits, () => void this.#run())
  }

  /** Whether there is a response that is up to date. */
  get isUpToDate(): boolean {
    return this.#pushed !== null && !this.#isDirty && this.#phase !== 'evaluating' && !this.#isUncertain
  }

  get isUnused(): boolean {
    return this.followers.size === 0
  }

  /**
   * Adds a stream, which receives the present response at once, and each later one.
   * @returns removes the stream
   */
  add(connection: LiveConnection): () => void {
    const follower = new ResponseFollower(connection, this, this.#evaluations)
    this.followers.add(follower)
    if (this.isUpToDate) this.deliver(follower)
    else this.#schedule()
    return () => {
      if (this.followers.delete(follower) && this.isUnused) this.#end()
    }
  }

  /** Notes that an evaluation begins: it shows all changes until now. */
  beginEvaluation(): void {
    this.#evaluations++
    this.#phase = 'evaluating'
    this.#isDirty = false
  }

  /** Notes that the data may have changed. */
  invalidate(): void {
    this.#isDirty = true
    this.#schedule()
  }

  /** Notes that notifications of commits have resumed: the data may have changed. */
  onListeningResumed(): void {
    this.#pace.shorten()
    this.invalidate()
  }

  /** Notes that clients may have old data, as when notifications of commits have stopped, and sends `stale` to the streams. */
  becomeUncertain(): void {
    this.#isUncertain = true
    this.#host.fanOut([...this.followers], (follower) => this.#sendStale(follower))
  }

  /** Writes what a stream has missed, once its client has read everything before: the newest response, or `stale`. */
  onDrained(follower: ResponseFollower): void {
    if (follower.isBehind) this.deliver(follower)
    else this.#sendStale(follower)
  }

  /** Writes the newest response to a stream that does not have it, or that there is none any more. */
  deliver(follower: ResponseFollower): void {
    const frame = this.#pushed === null ? this.#refusal : this.#frameNow(this.#pushed)
    if (frame === null || follower.written === this.#revision) return
    if (!this.followers.has(follower) || !follower.write(frame, this.#revision)) return
    this.#host.onDelivery()
    this.#sendStale(follower)
  }

  /** Tells a stream that its data may be out of date, if it may. */
  #sendStale(follower: ResponseFollower): void {
    if (this.#isUncertain && this.followers.has(follower)) follower.sendStale(this.query.staleFrame)
  }

  /** Whether a stream has no event yet. */
  get #isAwaited(): boolean {
    return [...this.followers].some(({ written, connection }) => written === 0 && !connection.isFull)
  }

  #schedule(): void {
    if (this.#phase !== 'idle' || this.isUnused) return
    // Another server may be read from next, which is behind this one: only streams that have nothing yet get its data.
    if (this.#host.isListening || this.#isAwaited) this.#pace.schedule()
  }

  #end(): void {
    this.#pace.cancel()
    this.#keep(null)
  }

  #keep(pushed: PushedResponse | null): void {
    this.#host.onBytes(this.chargedSender, (pushed?.frame.length ?? 0) - (this.#pushed?.frame.length ?? 0))
    this.#pushed = pushed
  }

  async #run(): Promise<void> {
    this.#phase = 'waiting for its turn'
    // One that fails counts as a 503, and is repeated.
    const evaluation = await this.#host.evaluate(this).catch(() => null)
    this.#phase = 'delivering'
    const status = evaluation?.response.status ?? 503
    const end = (): void => {
      this.#phase = 'idle'
      if (this.#isDirty || this.#isAwaited) this.#schedule()
    }
    if (this.isUnused) return end()
    if (evaluation !== null && status === 200) return this.#take(evaluation, end)
    if (evaluation !== null && status < 500) return this.#refuse(evaluation, end)
    this.#fail(status, evaluation?.milliseconds ?? 0)
    end()
  }

  #take({ response, version, milliseconds }: TimedEvaluation, delivered: () => void): void {
    const { etagDigest: digest, bytes: body } = response
    const isSame = this.#pushed !== null && digest !== null && this.#pushed.digest === digest
    const { isListening } = this.#host
    const isPush = !isSame || (this.#isUncertain && isListening)
    if (isPush) this.#revision++
    this.#pace.rest(isPush ? this.#host.limits.pushMilliseconds : 0, milliseconds)
    if (isListening) this.#isUncertain = false
    this.#refusal = null
    this.#keep(pushedResponse(this.query, { digest, body, version }))
    const behind = this.#receivers().filter(({ written }) => written !== this.#revision)
    this.#host.fanOut(behind, (follower) => this.deliver(follower), delivered)
  }

  /** Returns the streams to send the response to: where data changed meanwhile, those that joined later may have seen newer data. */
  #receivers(): ResponseFollower[] {
    const all = [...this.followers].filter(({ written }) => written === 0 || this.#host.isListening)
    return this.#isDirty ? all.filter(({ evaluationsBefore }) => evaluationsBefore < this.#evaluations) : all
  }

  #fail(status: number, milliseconds: number): void {
    this.becomeUncertain()
    this.#isDirty = true
    if (status === 503) this.#pace.restAfterFailure(milliseconds)
    else this.#pace.rest(retryMilliseconds, milliseconds)
  }

  #refuse({ response, milliseconds }: TimedEvaluation, delivered: () => void): void {
    const { frame, isEnd } = this.query.refusal(response)
    this.#revision++
    this.#refusal = frame
    this.#keep(null)
    if (this.#host.isListening) this.#isUncertain = false
    this.#pace.rest(retryMilliseconds, milliseconds)
    const end = (follower: ResponseFollower): void => {
      follower.written = this.#revision
      follower.connection.end(frame)
    }
    this.#host.fanOut(this.#receivers(), isEnd ? end : (follower) => this.deliver(follower), delivered)
  }

  /** Returns the frame, with the newest version at which the response is known to be the same. */
  #frameNow({ digest, body, version, frame }: PushedResponse): Buffer {
    const { versionNow } = this.#host
    const newest = this.#isDirty || this.#phase === 'evaluating' ? version : laterVersion(version, versionNow)
    if (newest === version) return frame
    const renewed = pushedResponse(this.query, { digest, body, version: newest })
    this.#keep(renewed)
    return renewed.frame
  }
}
