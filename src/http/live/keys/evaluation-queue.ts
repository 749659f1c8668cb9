import type { LiveLimits } from '../../../limits/live.ts'

/** Makes a response; called once, when its turn has come. */
type Work = () => Promise<unknown>

/** The work of a stream that begins. */
interface Opening {
  readonly work: Work
  readonly isWanted: () => boolean
  readonly giveUp: (error: Error) => void
}

/** An evaluation for a stream was not made: too many wait, or its client has left. */
export class EvaluationRefused extends Error {
  override readonly name = 'EvaluationRefused'
}

/**
 * Runs the evaluations of a process, few at once, and none of them begins late in an iteration of the event loop: those
 * that the response cache answers would otherwise block it, one after the other. Keys that streams follow and streams that
 * begin take turns, and so do the senders of the latter.
 */
export class EvaluationQueue {
  readonly #limits: LiveLimits
  readonly #keys: Work[] = []
  readonly #openings = new Map<string, Opening[]>()
  #waitingOpenings = 0
  #running = 0
  #isTurnOfKeys = true
  /** When this iteration of the event loop began to evaluate, in milliseconds; null before. */
  #begunAt: number | null = null

  constructor(limits: LiveLimits) {
    this.#limits = limits
  }

  /** Returns whether so many evaluations more of a sender's streams may wait: half of what the others leave in all. */
  hasRoom(sender: string, openings: number): boolean {
    const ofSender = this.#openings.get(sender)?.length ?? 0
    const left = this.#limits.openings - (this.#waitingOpenings - ofSender)
    return ofSender + openings <= Math.ceil(left / 2)
  }

  /** Runs an evaluation for a key that streams follow. */
  forKey<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#keys.push(() => work().then(resolve, reject))
      this.#start()
    })
  }

  /**
   * Runs an evaluation for a stream that begins.
   * @param isWanted returns whether its client is still there
   * @throws {EvaluationRefused}
   */
  forOpening<Result>(sender: string, isWanted: () => boolean, work: () => Promise<Result>): Promise<Result> {
    if (!this.hasRoom(sender, 1)) {
      return Promise.reject(new EvaluationRefused('Too many streams begin.'))
    }
    return new Promise((resolve, reject) => {
      const ofSender = this.#openings.get(sender) ?? []
      ofSender.push({ work: () => work().then(resolve, reject), isWanted, giveUp: reject })
      this.#openings.set(sender, ofSender)
      this.#waitingOpenings++
      this.#start()
    })
  }

  #start(): void {
    while (this.#running < this.#limits.evaluations && this.#hasTime()) {
      const work = this.#next()
      if (work === undefined) return
      this.#running++
      void work().finally(() => {
        this.#running--
        this.#start()
      })
    }
  }

  /** Returns whether this iteration of the event loop may begin another evaluation; the next one goes on. */
  #hasTime(): boolean {
    if (this.#begunAt !== null) return performance.now() - this.#begunAt < this.#limits.evaluationMilliseconds
    if (this.#keys.length + this.#waitingOpenings === 0) return false
    this.#begunAt = performance.now()
    setImmediate(() => {
      this.#begunAt = null
      this.#start()
    })
    return true
  }

  #next(): Work | undefined {
    this.#isTurnOfKeys = !this.#isTurnOfKeys
    if (this.#isTurnOfKeys) return this.#keys.shift() ?? this.#nextOpening()
    return this.#nextOpening() ?? this.#keys.shift()
  }

  #nextOpening(): Work | undefined {
    for (const [sender, ofSender] of this.#openings) {
      const opening = ofSender.shift()
      // The sender is the last in turn now.
      this.#openings.delete(sender)
      if (ofSender.length > 0) this.#openings.set(sender, ofSender)
      if (opening === undefined) continue
      this.#waitingOpenings--
      if (opening.isWanted()) return opening.work
      opening.giveUp(new EvaluationRefused('The client has left.'))
    }
    return undefined
  }
}
