import type { Budget } from '../../../fairness/budget.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { EvaluationPace, retryMilliseconds } from './evaluation/evaluation-pace.ts'
import type { Evaluator } from './evaluation/evaluator.ts'
import { TurnSenders } from './evaluation/turn-senders.ts'
import { laterVersion, type SharedQuery, type TimedEvaluation } from './shared-query.ts'
import { type PushedResponse, pushedResponse } from './pushed-response.ts'
import type { ResponsesByTag, TaggedResponse } from './responses-by-tag.ts'
import { ResponseSubscriber } from './response-subscriber.ts'

/** The parts that all shared responses of a process share. */
export interface SharedResponseParts {
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  readonly versions: DataVersions
  readonly evaluator: Evaluator
  readonly byTag: ResponsesByTag
  /** Numbers of responses that the streams of senders follow. */
  readonly follows: Budget
  /** Bytes of responses that are stored for streams, each counted for the sender that followed it first. */
  readonly storedBytes: Budget
  readonly onDelivery: () => void
}

/**
 * A response that streams follow. When its data changes it is evaluated again, once for all of them; if its bytes differ
 * from those before, one buffer is written to all. Two such pushes are a minimum time apart: of several changes in it
 * the newest counts. After each evaluation the next one waits some times as long as it took, whatever its result.
 */
export class SharedResponse implements TaggedResponse {
  readonly #parts: SharedResponseParts
  readonly #subscribers = new Set<ResponseSubscriber>()
  /** The senders in whose turns it is evaluated. */
  readonly #senders: TurnSenders
  /** Number of evaluations that have begun. */
  #evaluations = 0
  /** Number of pushes: a subscriber with a smaller one is behind. */
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
    readonly query: SharedQuery,
    parts: SharedResponseParts,
    readonly chargedSender: string,
  ) {
    this.#parts = parts
    this.#senders = new TurnSenders(this.#subscribers, parts.follows, chargedSender)
    this.#isUncertain = !parts.versions.isListening
    this.#pace = new EvaluationPace(parts.limits, () => void this.#run())
  }

  /** Whether there is a response that is up to date. */
  get isUpToDate(): boolean {
    return this.#pushed !== null && !this.#isDirty && this.#phase !== 'evaluating' && !this.#isUncertain
  }

  get isUnused(): boolean {
    return this.#subscribers.size === 0
  }

  /**
   * Adds a stream, which receives the present response, or a notice that it may be out of date, and each later one.
   * @returns removes the stream
   */
  add(connection: LiveConnection): () => void {
    const subscriber: ResponseSubscriber = new ResponseSubscriber(connection, this.#evaluations, () => {
      if (subscriber.isBehind) this.#deliver(subscriber)
      else this.#sendStale(subscriber)
    })
    this.#subscribers.add(subscriber)
    this.#sendStale(subscriber)
    if (this.isUpToDate) this.#deliver(subscriber)
    else this.#schedule()
    this.#senders.joined(connection.sender)
    return () => {
      if (!this.#subscribers.delete(subscriber)) return
      this.#senders.left(connection.sender)
      if (!this.isUnused) return
      this.#pace.cancel()
      this.#keep(null)
    }
  }

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
    this.#parts.fanOut([...this.#subscribers], (subscriber) => this.#sendStale(subscriber))
  }

  /** Writes the newest response to a stream that does not have it, or that there is none any more. */
  #deliver(subscriber: ResponseSubscriber): void {
    const frame = this.#pushed === null ? this.#refusal : this.#frameNow(this.#pushed)
    if (frame === null || subscriber.written === this.#revision) return
    if (!this.#subscribers.has(subscriber) || !subscriber.write(frame, this.#revision)) return
    this.#parts.onDelivery()
    this.#sendStale(subscriber)
  }

  /** Tells a stream that its data may be out of date, if it may. */
  #sendStale(subscriber: ResponseSubscriber): void {
    if (this.#isUncertain && this.#subscribers.has(subscriber)) subscriber.sendStale(this.query, this.#parts.versions)
  }

  /** Whether a stream has no event yet. */
  get #isAwaited(): boolean {
    return [...this.#subscribers].some(({ written, connection }) => written === 0 && !connection.isFull)
  }

  #schedule(): void {
    if (this.#phase !== 'idle' || this.isUnused) return
    // Another server may be read from next, which is behind this one: only streams that have nothing yet get its data.
    if (this.#parts.versions.isListening || this.#isAwaited) this.#pace.schedule()
  }

  #keep(pushed: PushedResponse | null): void {
    this.#parts.storedBytes.add(this.chargedSender, (pushed?.frame.length ?? 0) - (this.#pushed?.frame.length ?? 0))
    this.#pushed = pushed
  }

  async #run(): Promise<void> {
    this.#phase = 'waiting for its turn'
    const { evaluator, byTag } = this.#parts
    let commits = 0
    const begin = (): void => {
      commits = byTag.commits
      this.#evaluations++
      this.#phase = 'evaluating'
      this.#isDirty = false
    }
    const evaluation = await evaluator.evaluate(this.query, this.#senders, begin).catch(() => null)
    this.#phase = 'delivering'
    const end = (): void => {
      this.#phase = 'idle'
      if (this.#isDirty || this.#isAwaited) this.#schedule()
    }
    if (this.isUnused) return end()
    if (evaluation !== null) {
      const { tags, isCacheable } = evaluation.response.origin
      if (byTag.set(this, isCacheable ? tags : null, commits)) this.#isDirty = true
      if (evaluation.response.status === 200) return this.#take(evaluation, end)
      if (evaluation.response.status < 500) return this.#refuse(evaluation, end)
    }
    this.#fail(evaluation)
    end()
  }

  #take({ response, version, milliseconds }: TimedEvaluation, delivered: () => void): void {
    const { etagDigest: digest, bytes: body } = response
    const isSame = this.#pushed !== null && digest !== null && this.#pushed.digest === digest
    const { isListening } = this.#parts.versions
    const isPush = !isSame || (this.#isUncertain && isListening)
    if (isPush) this.#revision++
    this.#pace.rest(isPush ? this.#parts.limits.pushMilliseconds : 0, milliseconds)
    if (isListening) this.#isUncertain = false
    this.#refusal = null
    this.#keep(pushedResponse(this.query, { digest, body, version }))
    const behind = this.#receivers().filter(({ written }) => written !== this.#revision)
    this.#parts.fanOut(behind, (subscriber) => this.#deliver(subscriber), delivered)
  }

  /** Returns the streams to send the response to: where data changed meanwhile, those that joined later may have seen newer data. */
  #receivers(): ResponseSubscriber[] {
    const all = [...this.#subscribers].filter(({ written }) => written === 0 || this.#parts.versions.isListening)
    return this.#isDirty ? all.filter(({ evaluationsBefore }) => evaluationsBefore < this.#evaluations) : all
  }

  /** @param evaluation null if it has no result, which counts as a 503 */
  #fail(evaluation: TimedEvaluation | null): void {
    this.becomeUncertain()
    this.#isDirty = true
    const { response: { status } = { status: 503 }, milliseconds = 0 } = evaluation ?? {}
    if (status === 503) this.#pace.restAfterFailure(milliseconds)
    else this.#pace.rest(retryMilliseconds, milliseconds)
  }

  #refuse({ response, milliseconds }: TimedEvaluation, delivered: () => void): void {
    const { frame, isEnd } = this.query.refusal(response)
    this.#revision++
    this.#refusal = frame
    this.#keep(null)
    if (this.#parts.versions.isListening) this.#isUncertain = false
    this.#pace.rest(retryMilliseconds, milliseconds)
    const send = (subscriber: ResponseSubscriber): void =>
      isEnd ? subscriber.end(frame, this.#revision) : this.#deliver(subscriber)
    this.#parts.fanOut(this.#receivers(), send, delivered)
  }

  /** Returns the frame, with the newest version at which the response is known to be the same. */
  #frameNow({ digest, body, version, frame }: PushedResponse): Buffer {
    const isCurrent = !this.#isDirty && this.#phase !== 'evaluating'
    const newest = isCurrent ? laterVersion(version, this.#parts.versions.currentState().version) : version
    if (newest === version) return frame
    const renewed = pushedResponse(this.query, { digest, body, version: newest })
    this.#keep(renewed)
    return renewed.frame
  }
}
