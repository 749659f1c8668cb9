import type { LiveLimits } from '../../../../limits/live.ts'
import type { DataVersions } from '../../../cache/data-versions.ts'
import { TagChanges } from '../../../cache/tag-changes.ts'
import type { TimedEvaluation } from '../followed-query.ts'
import type { FollowedResponse } from '../followed-response.ts'
import { EvaluationQueue } from './evaluation-queue.ts'

export interface EvaluatorOptions {
  readonly limits: LiveLimits
  readonly versions: DataVersions
  /** Called when an evaluation begins. */
  readonly onEvaluation: () => void
}

/** Evaluates responses for streams, each in its turn, and holds those back that clients may not have. */
export class Evaluator {
  readonly #versions: DataVersions
  readonly #onEvaluation: () => void
  readonly #queue: EvaluationQueue
  readonly #changes = new TagChanges()
  /** How often notifications of commits have stopped. */
  #stops = 0

  constructor({ limits, versions, onEvaluation }: EvaluatorOptions) {
    this.#versions = versions
    this.#onEvaluation = onEvaluation
    this.#queue = new EvaluationQueue(limits)
  }

  /** Returns whether a stream may begin that needs so many responses. */
  hasRoomForOpenings(sender: string, responses: number): boolean {
    return this.#queue.hasRoom(sender, responses)
  }

  /**
   * Makes the first response of a stream, for its status, with the limit on those that are made at once.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  forOpening<Result>(sender: string, isWanted: () => boolean, evaluate: () => Promise<Result>): Promise<Result> {
    return this.#queue.forOpening(sender, isWanted, () => {
      this.#onEvaluation()
      return evaluate()
    })
  }

  /**
   * Makes a followed response, and calls its `beginEvaluation`, and its `invalidate` where its data has changed meanwhile.
   * @param onTags called with the tags of its data; null where any commit may change it
   * @throws {EvaluationRefused}
   * @throws {Error} if notifications of commits stopped meanwhile, or resumed from a server that is behind the result: a
   *   client must not go back to older data than an earlier server's
   */
  async forFollowed(
    followed: FollowedResponse,
    onTags: (tags: ReadonlySet<string> | null) => void,
  ): Promise<TimedEvaluation> {
    const work = async () => {
      this.#onEvaluation()
      const begun = { changes: this.#changes.count, stops: this.#stops, isListening: this.#versions.isListening }
      followed.beginEvaluation()
      const started = performance.now()
      return { begun, ...(await followed.query.evaluate()), milliseconds: performance.now() - started }
    }
    const isWanted = (): boolean => !followed.isUnused
    const { begun, ...evaluation } = await followed.senders.queue((senders) =>
      this.#queue.forFollowed(senders, isWanted, work),
    )
    const { origin } = evaluation.response
    const tags = origin.isCacheable ? origin.tags : null
    onTags(tags)
    if (!this.#isUnchanged(tags, begun.changes)) followed.invalidate()
    // Waits until the response cache was notified of this version: a later request must not get an older cached response.
    const seq = origin.version === null ? 0 : Number.parseInt(origin.version, 10)
    await this.#versions.untilNotified({ seq })
    // Notifications have begun meanwhile: their server may not have reached the version of the result yet.
    const mayBeAhead =
      !begun.isListening && this.#versions.isListening && seq > 0 && !this.#versions.hasReached({ seq })
    if (begun.stops !== this.#stops || mayBeAhead) throw new Error('The result may be of another server.')
    return evaluation
  }

  /** Notes what a commit changed; null where that is not known. */
  committed(tags: readonly string[] | null): void {
    if (tags === null) this.#changes.forget()
    else this.#changes.change(tags)
  }

  /** Notes that notifications of commits have begun or stopped. */
  listening(isListening: boolean): void {
    this.#changes.forget()
    if (!isListening) this.#stops++
  }

  #isUnchanged(tags: ReadonlySet<string> | null, since: number): boolean {
    return tags === null ? this.#changes.count === since : this.#changes.isUnchanged([...tags], since)
  }
}
