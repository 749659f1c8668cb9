import { FairQueue } from '../../../../fairness/fair-queue.ts'
import { Budget } from '../../../../fairness/budget.ts'

/** An evaluation that waits for its turn, or runs. */
export interface QueuedEvaluation {
  /** Senders in whose turns it waits: whichever turn comes first, it is run in that one. */
  readonly senders: Set<string>
  /** Makes the response; called once, when its turn has come. */
  readonly work: () => Promise<unknown>
  readonly isWanted: () => boolean
  readonly giveUp: (error: EvaluationRefused) => void
}

/** An evaluation for a stream was not made: too many wait, or its client has left. */
export class EvaluationRefused extends Error {
  override readonly name = 'EvaluationRefused'
}

/**
 * Evaluations that wait, and the number of those that run. Senders take turns, and those of one network have the turns of
 * one client. Of the evaluations that may run at once, a client has a fair share. With turns alone, clients of slow
 * evaluations would soon run nothing but these: a fast one ends at once, and its place goes to the next in turn.
 */
export class EvaluationClass {
  readonly #max: number
  readonly #waiting = new FairQueue<QueuedEvaluation>()
  #running = 0
  readonly #runningOf: Budget

  /** @param max maximum number of evaluations that run at once */
  constructor(max: number) {
    this.#max = max
    this.#runningOf = new Budget(max)
  }

  /** Lets an evaluation, which has not begun, wait in the turns of a sender, beside those where it waits already. */
  add(sender: string, evaluation: QueuedEvaluation): void {
    if (evaluation.senders.has(sender)) return
    evaluation.senders.add(sender)
    this.#waiting.add(sender, evaluation)
  }

  /** Lets an evaluation no longer wait in the turns of a sender. */
  remove(sender: string, evaluation: QueuedEvaluation): void {
    if (evaluation.senders.delete(sender)) this.#waiting.delete(sender, evaluation)
  }

  /**
   * Runs the next evaluation, or gives it up if nobody waits for it: a crowd that leaves can leave thousands.
   * @returns resolves when it has ended; null if none may run now
   */
  runNext(): Promise<void> | null {
    if (this.#running >= this.#max) return null
    const next = this.#waiting.take((client) => this.#runningOf.hasRoom(client, 1))
    if (next === undefined) return null
    const { sender, entry: evaluation } = next
    for (const other of evaluation.senders) this.#waiting.delete(other, evaluation)
    evaluation.senders.clear()
    if (evaluation.isWanted()) return this.#run(evaluation, sender)
    evaluation.giveUp(new EvaluationRefused('The client has left.'))
    return Promise.resolve()
  }

  async #run({ work }: QueuedEvaluation, sender: string): Promise<void> {
    this.#running++
    this.#runningOf.add(sender, 1)
    try {
      await work()
    } finally {
      this.#running--
      this.#runningOf.giveBack(sender, 1)
    }
  }
}
