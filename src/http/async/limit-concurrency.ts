import { FairQueue } from '../../graphql/execution/admission/fair-queue.ts'
import { networkOf } from '../sender.ts'

/** Runs work of a sender when the limits permit it; the rest waits, and senders take turns. */
export type LimitConcurrency = <Result>(sender: string, work: () => Promise<Result>) => Promise<Result>

/**
 * Creates a limit on concurrent work. One sender, and one network of senders, may use at most half of it, so that no
 * sender waits for all work of another.
 * @param max maximum number of pieces of work that run at once
 */
export function limitConcurrency(max: number): LimitConcurrency {
  const maxOfClient = Math.ceil(max / 2)
  /** Waiting work, by network, or by sender outside any network; the next in turn comes first. */
  const waiting = new Map<string, FairQueue<() => void>>()
  /** Number of running pieces of work, of each network or sender that has any. */
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
      const start = works.take()
      waiting.delete(client)
      // A map is iterated in the order of insertion: the client is the last in turn now.
      if (works.size > 0) waiting.set(client, works)
      count(client, 1)
      start?.()
    }
  }

  return async (sender, work) => {
    const client = networkOf(sender) ?? sender
    await new Promise<void>((resolve) => {
      const works = waiting.get(client) ?? new FairQueue<() => void>()
      works.add(sender, resolve)
      waiting.set(client, works)
      admit()
    })
    try {
      return await work()
    } finally {
      count(client, -1)
      admit()
    }
  }
}
