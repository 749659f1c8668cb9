import type { Budget } from '../../server/capacity/budget.ts'
import type { QueuedResult } from './evaluation-queue.ts'

/** The numbers of responses that senders follow. */
type Follows = Pick<Budget, 'takenBy'>

/** A stream that follows the response. */
interface FollowerOfSender {
  readonly connection: { readonly sender: string }
}

/** Maximum number of streams that are looked at for each evaluation. */
const maxLookedAt = 4

/**
 * The sender in whose turn a followed response is evaluated: of the senders of its streams, one that follows few responses.
 * Another sender, which follows it together with thousands of others, thus does not delay it. Each evaluation looks at a few
 * streams, the next one at those after them, because all responses may be evaluated after one commit.
 */
export class EvaluationTurn {
  readonly #followers: ReadonlySet<FollowerOfSender>
  #rotation: Iterator<FollowerOfSender>
  /** The sender of a present stream; null if none was looked at since it left. */
  #sender: string | null = null
  /** Number of responses that the sender followed in whose turn the newest evaluation was queued. */
  #follows = Infinity
  /** The evaluation that is queued or runs; not kept longer, because it refers to its response. */
  #queued: QueuedResult<unknown> | null = null
  /** The sender in whose turn it is. */
  #queuedFor = ''

  constructor(followers: ReadonlySet<FollowerOfSender>) {
    this.#followers = followers
    this.#rotation = followers.values()
  }

  /**
   * Queues an evaluation.
   * @param follows the responses that each sender follows
   * @param otherwise the sender where no stream follows the response any more
   */
  async queue<Result>(
    follows: Follows,
    otherwise: string,
    add: (sender: string) => QueuedResult<Result>,
  ): Promise<Result> {
    const sender = this.#chosen(follows) ?? otherwise
    this.#follows = follows.takenBy(sender)
    const queued = add(sender)
    this.#queued = queued
    this.#queuedFor = sender
    try {
      return await queued.result
    } finally {
      if (this.#queued === queued) this.#queued = null
    }
  }

  /**
   * Notes that a stream has joined. An evaluation that waits already is moved to its sender's turns, if that follows half as
   * many responses at most: each evaluation is moved a few times only.
   */
  joined(follows: Follows, sender: string): void {
    const followed = follows.takenBy(sender)
    if (this.#sender === null || followed < follows.takenBy(this.#sender)) this.#sender = sender
    if (followed > this.#follows / 2) return
    this.#follows = followed
    this.#moveTo(sender)
  }

  /**
   * Notes that a stream has left. An evaluation that waits in its sender's turns is moved to those of another one, which may
   * follow more: only once for each stream for which it was moved before.
   */
  left(follows: Follows, sender: string): void {
    if (this.#sender === sender) this.#sender = null
    if (this.#queued === null || this.#queuedFor !== sender) return
    const other = this.#chosen(follows)
    if (other !== null && other !== sender) this.#moveTo(other)
  }

  #moveTo(sender: string): void {
    this.#queued?.moveTo(sender)
    this.#queuedFor = sender
  }

  #chosen(follows: Follows): string | null {
    let fewest = this.#sender === null ? Infinity : follows.takenBy(this.#sender)
    for (let left = Math.min(maxLookedAt, this.#followers.size); left > 0; left--) {
      const { sender } = this.#nextFollower().connection
      const followed = follows.takenBy(sender)
      if (followed < fewest) [this.#sender, fewest] = [sender, followed]
    }
    return this.#sender
  }

  /** Returns the next follower in rotation; there must be one. */
  #nextFollower(): FollowerOfSender {
    const next = this.#rotation.next()
    if (next.done !== true) return next.value
    this.#rotation = this.#followers.values()
    return this.#rotation.next().value as FollowerOfSender
  }
}
