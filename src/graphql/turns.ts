import type { Cancellation } from '../database/cancellation.ts'
import { ReadCancelled } from '../database/cancelled.ts'

type Work<Result> = () => Promise<Result> | Result

/** Work by what it costs, which may be given up while it waits. */
export interface Costly {
  readonly cost: number
  readonly signal?: Cancellation | undefined
}

/**
 * Keeps what is dear from making what is plain wait, and what runs at once from being much: what waits holds next to
 * nothing, what is half made outlives its time in memory.
 */
export interface Turns {
  /**
   * Runs work that is plain: at once, unless it is a long list and enough of those are being made.
   * @throws {ReadCancelled} where it was given up before
   */
  plain<Result>(work: Work<Result>, costly: Costly): Promise<Result>
  /**
   * Runs work that is dear when it has its turn.
   * @throws {ReadCancelled} where it was given up before
   */
  dear<Result>(work: Work<Result>, costly: Costly): Promise<Result>
}

export interface TurnsOptions {
  /** All dear work that runs costs no more, or is one alone. */
  readonly most: number
  /** All plain work that runs costs no more when a long list begins, or it is alone. */
  readonly mostPlain: number
  /** What costs more is a long list. */
  readonly shortCost: number
  /** How long dear work lets plain work go first. */
  readonly patienceMilliseconds: number
}

interface Waiting {
  readonly cost: number
  readonly begin: () => void
  /** When it waits no longer for plain work; undefined until there is room for it. */
  patientUntil?: number
}

/** Work that waits, in the order it came in, and what all that runs costs. */
class Line {
  waiting: Waiting[] = []
  running = 0

  constructor(readonly most: number) {}

  hasRoomFor(cost: number): boolean {
    return this.running === 0 || this.running + cost <= this.most
  }

  /** Lets the first begin that waits, where there is room for it and it may. */
  next(may: (first: Waiting) => boolean): void {
    for (let [first] = this.waiting; first !== undefined; [first] = this.waiting) {
      if (!this.hasRoomFor(first.cost) || !may(first)) return
      this.waiting.shift()
      this.running += first.cost
      first.begin()
    }
  }
}

/** Work takes turns, what is dear while no plain work runs; but none waits for that for long. */
export function createTurns({ most, mostPlain, shortCost, patienceMilliseconds }: TurnsOptions): Turns {
  const plain = new Line(mostPlain)
  const dear = new Line(most)

  function next(): void {
    plain.next(() => true)
    dear.next((first) => plain.running === 0 || !isPatient(first))
  }

  function isPatient(first: Waiting): boolean {
    const now = performance.now()
    if (first.patientUntil !== undefined) return now < first.patientUntil
    first.patientUntil = now + patienceMilliseconds
    setTimeout(next, patienceMilliseconds + 1)
    return true
  }

  function turn(line: Line, { cost, signal }: Costly): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = {
        handleEvent(): void {
          line.waiting = line.waiting.filter((each) => each !== entry)
          reject(new ReadCancelled())
          next()
        },
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const entry: Waiting = { cost, begin }
      line.waiting.push(entry)
      signal?.addEventListener('abort', leave)
      next()
    })
  }

  return {
    async plain(work, costly) {
      const { cost } = costly
      if (cost <= shortCost || (plain.waiting.length === 0 && plain.hasRoomFor(cost))) plain.running += cost
      else await turn(plain, costly)
      try {
        return await work()
      } finally {
        plain.running -= cost
        if (plain.waiting.length > 0 || dear.waiting.length > 0) setImmediate(next)
      }
    },

    async dear(work, costly) {
      await turn(dear, costly)
      try {
        return await work()
      } finally {
        // What the network has brought meanwhile comes first; until then nobody has the turn, not even who comes right now.
        setImmediate(() => {
          dear.running -= costly.cost
          next()
        })
      }
    },
  }
}
