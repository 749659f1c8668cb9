import { type Cancellation, throwIfCancelled } from '../database/cancellation.ts'
import { ReadCancelled } from '../database/errors.ts'
import { clientOf } from './budget.ts'
import { FairQueue } from './fair-queue.ts'

/**
 * Runs work of a sender when the limits permit it; the rest waits, and senders take turns.
 * @throws {ReadCancelled} as soon as the signal is aborted while the work waits; it never runs then
 */
export type LimitConcurrency = <Result>(
  sender: string,
  work: () => Promise<Result>,
  signal?: Cancellation,
) => Promise<Result>

/**
 * Creates a limit on concurrent work. One client may use at most half of it, so that no client waits for all work of another.
 * @param max maximum number of pieces of work that run at once
 */
export function limitConcurrency(max: number): LimitConcurrency {
  const maxOfClient = Math.ceil(max / 2)
  /** Waiting work, by client; the next in turn comes first. */
  const waiting = new Map<string, FairQueue<() => void>>()
  /** Number of running pieces of work, of each client that has any. */
  const runningOf = new Map<string, number>()
  let running = 0

  function count(client: string, change: 1 | -1): void {
    running += change
    const ofClient = (runningOf.get(client) ?? 0) + change
    if (ofClient > 0) runningOf.set(client, ofClient)
    else runningOf.delete(client)
  }

  function admit(): void {
    for (const [client, works] of waiting) {
      if (running === max) return
      if ((runningOf.get(client) ?? 0) === maxOfClient) continue
      const next = works.take()
      waiting.delete(client)
      // A map is iterated in the order of insertion: the client is the last in turn now.
      if (works.size > 0) waiting.set(client, works)
      if (next === undefined) continue
      count(client, 1)
      next.entry()
    }
  }

  /** Resolves when the turn of a sender has begun. */
  function turn(client: string, sender: string, signal: Cancellation | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    return new Promise((resolve, reject) => {
      const works = waiting.get(client) ?? new FairQueue<() => void>()
      waiting.set(client, works)
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = {
        handleEvent: (): void => {
          works.delete(sender, begin)
          if (works.size === 0 && waiting.get(client) === works) waiting.delete(client)
          reject(new ReadCancelled())
        },
      }
      works.add(sender, begin)
      signal?.addEventListener('abort', leave)
      admit()
    })
  }

  return async (sender, work, signal) => {
    const client = clientOf(sender)
    await turn(client, sender, signal)
    try {
      // Since the turn began.
      throwIfCancelled(signal)
      return await work()
    } finally {
      count(client, -1)
      admit()
    }
  }
}
