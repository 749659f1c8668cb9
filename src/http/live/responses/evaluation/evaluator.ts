import type { LiveLimits } from '../../../../limits/live.ts'
import type { DataVersions } from '../../../cache/data-versions.ts'
import type { SharedQuery, TimedEvaluation } from '../shared-query.ts'
import { EvaluationQueue } from './evaluation-queue.ts'
import type { TurnSenders } from './turn-senders.ts'

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
   * Makes a shared response, and waits until the response cache was notified of its version: a later request must not get
   * an older cached response.
   * @param senders in whose turns it is made
   * @param onBegin called when its turn has come
   * @throws {EvaluationRefused}
   * @throws {Error} if the result may be of another server than the notifications of commits: a client must not go back to
   *   older data than an earlier server's
   */
  async evaluate(query: SharedQuery, senders: TurnSenders, onBegin: () => void): Promise<TimedEvaluation> {
    const { notified, ...evaluation } = await senders.runInTurn(this.#queue, async () => {
      this.#onEvaluation()
      onBegin()
      const notified = this.#versions.currentState()
      const startedAt = performance.now()
      return { notified, ...(await query.evaluate()), milliseconds: performance.now() - startedAt }
    })
    const isConfirmed = await this.#versions.confirmHistory(evaluation.response.origin.version, notified)
    if (!isConfirmed) throw new Error('The result may be of another server.')
    return evaluation
  }
}
