import { setTimeout as wait } from 'node:timers/promises'
import { isOutage } from '../database/errors.ts'
import { UnwritableRejects } from './errors.ts'

/** Is told of what holds a feed up, once each time. */
export interface OutageObserver {
  readonly onWait: (reason: Error) => void
  readonly onGoOn: () => void
}

const firstMilliseconds = 200
const longestMilliseconds = 5_000

/**
 * Tries work again and again while what it needs is out: the database, or room on a disk.
 * @param patience without it, the first outage ends it
 * @param signal ends the wait at once
 * @returns what the work gave, or null where it was stopped before
 */
export async function retryDuringOutage<Result>(
  work: () => Promise<Result>,
  patience: OutageObserver | undefined,
  signal: AbortSignal | undefined,
): Promise<Result | null> {
  for (let tries = 0; ; tries++) {
    try {
      const result = await work()
      if (tries > 0) patience?.onGoOn()
      return result
    } catch (error) {
      // It waits no longer, whatever comes of the error.
      if (tries > 0 && !passes(error)) patience?.onGoOn()
      if (patience === undefined || !passes(error)) throw error
      if (tries === 0) patience.onWait(error)
    }
    await wait(pauseMilliseconds(tries), undefined, { ...(signal && { signal }) }).catch(() => undefined)
    if (signal?.aborted === true) return null
  }
}

function passes(error: unknown): error is Error {
  return isOutage(error) || (error instanceof UnwritableRejects && error.isFull)
}

/** Twice as long each time, and a random part of it less, so that many who wait don't come back at once. */
function pauseMilliseconds(tries: number): number {
  const longest = Math.min(longestMilliseconds, firstMilliseconds * 2 ** tries)
  return longest * (1 - Math.random() / 2)
}
