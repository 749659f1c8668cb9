import type { Cancellation } from '../database/cancellation.ts'
import { ReadCancelled } from '../database/cancelled.ts'

type Work<Result> = () => Promise<Result> | Result

/** Keeps what is dear from making what is plain wait. */
export interface Turns {
  /** Runs work that is plain, at once. */
  plain<Result>(work: Work<Result>): Promise<Result>
  /**
   * Runs work that is dear when it has its turn.
   * @throws {ReadCancelled} where it was given up before
   */
  dear<Result>(cost: number, signal: Cancellation | undefined, work: Work<Result>): Promise<Result>
}

export interface TurnsOptions {
  /** All dear work that runs costs no more, or is one alone. */
  readonly most: number
  /** How long dear work lets plain work go first. */
  readonly patienceMilliseconds: number
}

interface Waiting {
  readonly cost: number
  readonly begin: () => void
  /** When it waits no longer for plain work; undefined until there is room for it. */
  patientUntil?: number
}

/** Dear work takes turns, in the order it came in, each while no plain work runs; but none waits for that for long. */
export function createTurns({ most, patienceMilliseconds }: TurnsOptions): Turns {
  const waiting: Waiting[] = []
  let running = 0
  let plain = 0

  function next(): void {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (running > 0 && running + first.cost > most) return
      if (plain > 0 && isPatient(first)) return
      waiting.shift()
      running += first.cost
      first.begin()
    }
  }

  function isPatient(first: Waiting): boolean {
    const now = performance.now()
    if (first.patientUntil !== undefined) return now < first.patientUntil
    first.patientUntil = now + patienceMilliseconds
    setTimeout(next, patienceMilliseconds + 1)
    return true
  }

  function turn(cost: number, signal: Cancellation | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = {
        handleEvent(): void {
          waiting.splice(waiting.indexOf(entry), 1)
          reject(new ReadCancelled())
          next()
        },
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const entry: Waiting = { cost, begin }
      waiting.push(entry)
      signal?.addEventListener('abort', leave)
      next()
    })
  }

  return {
    async plain(work) {
      plain++
      try {
        return await work()
      } finally {
        plain--
        if (waiting.length > 0) setImmediate(next)
      }
    },

    async dear(cost, signal, work) {
      await turn(cost, signal)
      try {
        return await work()
      } finally {
        // What the network has brought meanwhile comes first; until then nobody has the turn, not even who comes right now.
        setImmediate(() => {
          running -= cost
          next()
        })
      }
    },
  }
}
