import { ReadCancelled } from '../database/cancelled.ts'

/** Lets work run when there is room for what it costs beside what runs. */
export type TakeTurn = <Result>(
  cost: number,
  signal: AbortSignal | undefined,
  work: () => Promise<Result> | Result,
) => Promise<Result>

interface Waiting {
  readonly cost: number
  readonly begin: () => void
}

/**
 * Work that is dear takes turns, in the order it came in: all that runs costs no more than the bound, or is one alone.
 * What costs little runs at once, so that it never waits for what costs much.
 * @param most cost at once
 * @param little what runs without a turn
 */
export function createTurns(most: number, little: number): TakeTurn {
  const waiting: Waiting[] = []
  let running = 0

  function next(): void {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (running > 0 && running + first.cost > most) return
      waiting.shift()
      running += first.cost
      first.begin()
    }
  }

  /** @throws {ReadCancelled} where it was given up before its turn */
  function turn(cost: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(entry), 1)
        reject(new ReadCancelled(signal?.reason))
        next()
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const entry = { cost, begin }
      waiting.push(entry)
      signal?.addEventListener('abort', leave, { once: true })
      next()
    })
  }

  return async (cost, signal, work) => {
    if (cost <= little) return work()
    await turn(cost, signal)
    try {
      return await work()
    } finally {
      running -= cost
      // What waits for the network comes first.
      setImmediate(next)
    }
  }
}
