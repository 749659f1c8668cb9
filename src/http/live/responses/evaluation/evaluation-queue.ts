import type { LiveLimits } from '../../../../limits/live.ts'
import { Budget } from '../../../../fairness/budget.ts'
import { EvaluationClass, EvaluationRefused, type QueuedEvaluation } from './evaluation-class.ts'

/** An evaluation that was queued. */
export interface QueuedResult<Result> {
  /** @throws {EvaluationRefused} */
  readonly result: Promise<Result>
  /** Lets it wait in the turns of another sender too, unless it has begun. */
  addTo(sender: string): void
  /** Lets it no longer wait in the turns of a sender; it must wait in those of another one. */
  removeFrom(sender: string): void
}

/** An evaluation to be queued. */
interface EvaluationWork<Result> {
  readonly work: () => Promise<Result>
  /** Returns whether anybody still waits for it. */
  readonly isWanted: () => boolean
  /** Called when it begins, or is given up. */
  readonly onTurn: () => void
}

/**
 * Runs the evaluations of a process, few at once, and none of them begins late in an iteration of the event loop: those
 * that the response cache answers would otherwise block it, one after the other. Shared responses and streams that begin
 * are a class each, so that neither wait for slow evaluations of the other; the two classes alternate. An evaluation that
 * nobody waits for is not made.
 */
export class EvaluationQueue {
  readonly #limits: LiveLimits
  readonly #shared: EvaluationClass
  readonly #openings: EvaluationClass
  /** Openings that wait. */
  readonly #room: Budget
  #isSharedNext = true
  /** When this iteration of the event loop began to evaluate, in milliseconds; null before. */
  #startedAt: number | null = null

  constructor(limits: LiveLimits) {
    this.#limits = limits
    this.#shared = new EvaluationClass(limits.evaluations)
    this.#openings = new EvaluationClass(limits.evaluations)
    this.#room = new Budget(limits.openings)
  }

  /** Returns whether so many evaluations more of a sender's streams may wait: a fair share of all. */
  hasRoom(sender: string, openings: number): boolean {
    return this.#room.hasRoom(sender, openings)
  }

  /**
   * Runs an evaluation of a response that streams follow, in the turn that comes first.
   * @param senders of some of these streams; at least one
   * @param isWanted returns whether any stream still follows it
   */
  forShared<Result>(
    senders: Iterable<string>,
    isWanted: () => boolean,
    work: () => Promise<Result>,
  ): QueuedResult<Result> {
    return this.#enqueue(this.#shared, senders, { isWanted, work, onTurn: () => undefined })
  }

  /**
   * Runs an evaluation for a stream that begins.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  async forOpening<Result>(sender: string, isWanted: () => boolean, work: () => Promise<Result>): Promise<Result> {
    if (!this.#room.take(sender, 1)) throw new EvaluationRefused('Too many streams begin.')
    const onTurn = (): void => this.#room.giveBack(sender, 1)
    return this.#enqueue(this.#openings, [sender], { isWanted, work, onTurn }).result
  }

  #enqueue<Result>(
    ofClass: EvaluationClass,
    senders: Iterable<string>,
    { work, isWanted, onTurn }: EvaluationWork<Result>,
  ): QueuedResult<Result> {
    let addTo: QueuedResult<Result>['addTo'] = () => undefined
    let removeFrom: QueuedResult<Result>['removeFrom'] = () => undefined
    const result = new Promise<Result>((resolve, reject) => {
      let hasBegun = false
      const begin = (): void => {
        hasBegun = true
        onTurn()
      }
      const evaluation: QueuedEvaluation = {
        senders: new Set(),
        isWanted,
        work: () => {
          begin()
          return work().then(resolve, reject)
        },
        giveUp: (error) => {
          begin()
          reject(error)
        },
      }
      addTo = (sender) => {
        if (!hasBegun) ofClass.add(sender, evaluation)
        this.#start()
      }
      removeFrom = (sender) => ofClass.remove(sender, evaluation)
      for (const sender of senders) ofClass.add(sender, evaluation)
      this.#start()
    })
    return { result, addTo, removeFrom }
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
    this.#isSharedNext = !this.#isSharedNext
    const [first, second] = this.#isSharedNext ? [this.#shared, this.#openings] : [this.#openings, this.#shared]
    return first.runNext() ?? second.runNext()
  }
}
