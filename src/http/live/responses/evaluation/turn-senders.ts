import type { Budget } from '../../../../fairness/budget.ts'
import type { EvaluationQueue, QueuedResult } from './evaluation-queue.ts'

/** A stream that follows the response. */
interface StreamOfSender {
  readonly connection: { readonly sender: string }
}

/** Maximum number of streams that are looked at for each evaluation. */
const maxLookedAt = 4

/**
 * The senders in whose turns a shared response is evaluated, whichever comes first: some of the senders of its streams, and
 * among them one that follows few responses. Another sender, which follows it together with thousands of others or whose share is
 * full of slow evaluations, thus does not delay it. Each evaluation looks at a few streams, the next one at those after them,
 * because all responses may be evaluated after one commit.
 */
export class TurnSenders {
  readonly #subscribers: ReadonlySet<StreamOfSender>
  readonly #follows: Pick<Budget, 'of'>
  readonly #otherwise: string
  #rotation: Iterator<StreamOfSender>
  /** The sender of a present stream that follows the fewest responses of those looked at; null if it has left since. */
  #fewest: string | null = null
  /** The evaluation that is queued or runs; not kept longer, because it refers to its response. */
  #queued: QueuedResult<unknown> | null = null

  /**
   * @param follows numbers of responses that senders follow
   * @param otherwise the sender where no stream follows the response any more
   */
  constructor(subscribers: ReadonlySet<StreamOfSender>, follows: Pick<Budget, 'of'>, otherwise: string) {
    this.#subscribers = subscribers
    this.#follows = follows
    this.#otherwise = otherwise
    this.#rotation = subscribers.values()
  }

  /**
   * Runs the evaluation in the turn of some sender, whichever comes first.
   * @throws {EvaluationRefused} if no stream follows it any more
   */
  async runInTurn<Result>(queue: Pick<EvaluationQueue, 'forShared'>, work: () => Promise<Result>): Promise<Result> {
    const senders = this.#someSenders()
    const isWanted = (): boolean => this.#subscribers.size > 0
    const queued = queue.forShared(isWanted() ? senders : [this.#otherwise], isWanted, work)
    this.#queued = queued
    try {
      return await queued.result
    } finally {
      if (this.#queued === queued) this.#queued = null
    }
  }

  /** Notes that a stream has joined: an evaluation that waits already waits in its sender's turns too. */
  joined(sender: string): void {
    this.#compare(sender)
    this.#queued?.addTo(sender)
  }

  /** Notes that a stream has left: an evaluation waits in the turns of others that remain. */
  left(sender: string): void {
    if (this.#fewest === sender) this.#fewest = null
    if (this.#queued === null || this.#subscribers.size === 0) return
    const senders = this.#someSenders()
    for (const other of senders) this.#queued.addTo(other)
    if (!senders.has(sender)) this.#queued.removeFrom(sender)
  }

  /** Returns senders of present streams: that which follows the fewest responses, and of the next ones in rotation. */
  #someSenders(): Set<string> {
    const senders = new Set<string>()
    for (let left = Math.min(maxLookedAt, this.#subscribers.size); left > 0; left--) {
      const { sender } = this.#nextStream().connection
      if (!senders.has(sender)) this.#compare(sender)
      senders.add(sender)
    }
    return this.#fewest === null ? senders : senders.add(this.#fewest)
  }

  #compare(sender: string): void {
    if (this.#fewest === null || this.#follows.of(sender) < this.#follows.of(this.#fewest)) this.#fewest = sender
  }

  /** Returns the next subscriber in rotation; there must be one. */
  #nextStream(): StreamOfSender {
    const next = this.#rotation.next()
    if (next.done !== true) return next.value
    this.#rotation = this.#subscribers.values()
    return this.#rotation.next().value as StreamOfSender
  }
}
