import type { LiveLimits } from '../../../limits/live.ts'
import { Budget } from '../../server/capacity/budget.ts'
import { EvaluationLine, EvaluationRefused, type QueuedEvaluation } from './evaluation-line.ts'

/** An evaluation that was queued. */
export interface QueuedResult<Result> {
  /** @throws {EvaluationRefused} */
  readonly result: Promise<Result>
  /** Gives it a turn of another sender, unless it has begun. */
  moveTo(sender: string): void
}

/**
 * Runs the evaluations of a process, few at once, and none of them begins late in an iteration of the event loop: those
 * that the response cache answers would otherwise block it, one after the other. Followed responses and streams that begin
 * have a line each, so that neither wait for slow evaluations of the others; the two lines alternate. An evaluation that
 * nobody waits for is not made.
 */
export class EvaluationQueue {
  readonly #limits: LiveLimits
  readonly #followed: EvaluationLine
  readonly #openings: EvaluationLine
  /** Openings that wait. */
  readonly #room: Budget
  #isFollowedNext = true
  /** When this iteration of the event loop began to evaluate, in milliseconds; null before. */
  #startedAt: number | null = null

  constructor(limits: LiveLimits) {
    this.#limits = limits
    this.#followed = new EvaluationLine(limits.evaluations)
    this.#openings = new EvaluationLine(limits.evaluations)
    this.#room = new Budget(limits.openings)
  }

  /** Returns whether so many evaluations more of a sender's streams may wait: a fair share of all. */
  hasRoom(sender: string, openings: number): boolean {
    return this.#room.hasRoom(sender, openings)
  }

  /**
   * Runs an evaluation of a response that streams follow.
   * @param sender of one of these streams
   * @param isWanted returns whether any stream still follows it
   */
  forFollowed<Result>(sender: string, isWanted: () => boolean, work: () => Promise<Result>): QueuedResult<Result> {
    return this.#wait(this.#followed, sender, isWanted, work)
  }

  /**
   * Runs an evaluation for a stream that begins.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  async forOpening<Result>(sender: string, isWanted: () => boolean, work: () => Promise<Result>): Promise<Result> {
    if (!this.#room.take(sender, 1)) throw new EvaluationRefused('Too many streams begin.')
    const giveBack = (): void => this.#room.giveBack(sender, 1)
    return this.#wait(this.#openings, sender, isWanted, work, giveBack).result
  }

  #wait<Result>(
    line: EvaluationLine,
    sender: string,
    isWanted: () => boolean,
    work: () => Promise<Result>,
    onTurn = (): void => undefined,
  ): QueuedResult<Result> {
    let moveTo: QueuedResult<Result>['moveTo'] = () => undefined
    const result = new Promise<Result>((resolve, reject) => {
      const evaluation: QueuedEvaluation = {
        isWanted,
        work: () => {
          onTurn()
          return work().then(resolve, reject)
        },
        giveUp: (error) => {
          onTurn()
          reject(error)
        },
      }
      line.add(sender, evaluation)
      let queuedFor = sender
      moveTo = (other) => {
        if (line.move(evaluation, queuedFor, other)) queuedFor = other
        this.#start()
      }
      this.#start()
    })
    return { result, moveTo }
  }

  /** Begins evaluations, for a short time of this iteration of the event loop; the next one goes on. */
  #start(): void {
    while (this.#hasTime) {
      const startedAt = performance.now()
      const ended = this.#runNext()
      if (ended === null) return
      void ended.finally(() => this.#start())
      if (this.#startedAt !== null) continue
      this.#startedAt = startedAt
      setImmediate(() => {
        this.#startedAt = null
        this.#start()
      })
    }
  }

  get #hasTime(): boolean {
    return this.#startedAt === null || performance.now() - this.#startedAt < this.#limits.evaluationMilliseconds
  }

  #runNext(): Promise<void> | null {
    this.#isFollowedNext = !this.#isFollowedNext
    const [first, second] = this.#isFollowedNext ? [this.#followed, this.#openings] : [this.#openings, this.#followed]
    return first.runNext() ?? second.runNext()
  }
}
