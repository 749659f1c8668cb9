import { FairQueue } from '../../../graphql/execution/admission/fair-queue.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import { networkOf } from '../../sender.ts'
import { Budget } from '../../server/capacity/budget.ts'

/** An evaluation that waits for its turn. */
interface QueuedEvaluation {
  /** Makes the response; called once, when its turn has come. */
  readonly work: () => Promise<unknown>
  readonly isWanted: () => boolean
  readonly giveUp: (error: Error) => void
}

/** An evaluation that was queued. */
export interface QueuedResult<Result> {
  /** @throws {EvaluationRefused} */
  readonly result: Promise<Result>
  /** Gives it a turn of another sender, unless it has begun. */
  moveTo(sender: string): void
}

/** An evaluation for a stream was not made: too many wait, or its client has left. */
export class EvaluationRefused extends Error {
  override readonly name = 'EvaluationRefused'
}

/**
 * Runs the evaluations of a process, few at once, and none of them begins late in an iteration of the event loop: those
 * that the response cache answers would otherwise block it, one after the other. Followed responses and streams that begin
 * alternate, and within both the senders take turns; those of one network have the turns of one. An evaluation that
 * nobody waits for is not made.
 */
export class EvaluationQueue {
  readonly #limits: LiveLimits
  readonly #followed = new FairQueue<QueuedEvaluation>(networkOf)
  readonly #openings = new FairQueue<QueuedEvaluation>(networkOf)
  /** Openings that wait. */
  readonly #room: Budget
  #running = 0
  #isFollowedNext = true
  /** When this iteration of the event loop began to evaluate, in milliseconds; null before. */
  #startedAt: number | null = null

  constructor(limits: LiveLimits) {
    this.#limits = limits
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
    queue: FairQueue<QueuedEvaluation>,
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
      queue.add(sender, evaluation)
      let queuedFor = sender
      moveTo = (other) => {
        if (!queue.delete(queuedFor, evaluation)) return
        queue.add(other, evaluation)
        queuedFor = other
      }
      this.#start()
    })
    return { result, moveTo }
  }

  #start(): void {
    while (this.#running < this.#limits.evaluations && this.#hasTime()) {
      const next = this.#next()
      if (next === undefined) return
      this.#running++
      void next.work().finally(() => {
        this.#running--
        this.#start()
      })
    }
  }

  /** Returns whether this iteration of the event loop may begin another evaluation; the next one goes on. */
  #hasTime(): boolean {
    if (this.#startedAt !== null) return performance.now() - this.#startedAt < this.#limits.evaluationMilliseconds
    if (this.#followed.size + this.#openings.size === 0) return false
    this.#startedAt = performance.now()
    setImmediate(() => {
      this.#startedAt = null
      this.#start()
    })
    return true
  }

  #next(): QueuedEvaluation | undefined {
    this.#isFollowedNext = !this.#isFollowedNext
    const [first, second] = this.#isFollowedNext ? [this.#followed, this.#openings] : [this.#openings, this.#followed]
    return nextWanted(first) ?? nextWanted(second)
  }
}

/** Takes the next evaluation of a queue that somebody waits for. */
function nextWanted(queue: FairQueue<QueuedEvaluation>): QueuedEvaluation | undefined {
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    if (next.isWanted()) return next
    next.giveUp(new EvaluationRefused('The client has left.'))
  }
  return undefined
}
