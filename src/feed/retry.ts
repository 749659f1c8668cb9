import { setTimeout as wait } from 'node:timers/promises'
import { sqlStateOf } from '../database/driver-errors.ts'
import { DatabaseRefused, DatabaseUnavailable, isConflict, isOutage, isUniqueViolation } from '../database/errors.ts'
import { ClockBehind, UnwritableRejects } from './errors.ts'

/** Observes outages that delay a feed. */
export interface OutageObserver {
  /** Called once for each outage, and again where two attempts in succession have another reason. */
  readonly onWait: (reason: Error) => void
  /** Called once for each outage. */
  readonly onResume: () => void
  /** Whether the feed also waits while the database refuses its role or lacks its tables, until an operator mends that. */
  readonly waitsForOperator?: boolean
}

const firstMilliseconds = 200
const maxMilliseconds = 5_000

/**
 * Retries work during an outage of the database, with a full disk or a wrong clock, with exponential backoff and jitter.
 * @param outageObserver without it the first outage is thrown
 * @param signal ends the wait immediately
 * @returns the result of the work; null where it was aborted first
 */
export async function retryDuringOutage<Result>(
  work: () => Promise<Result>,
  outageObserver: OutageObserver | undefined,
  signal: AbortSignal | undefined,
): Promise<Result | null> {
  let reported: string | null = null
  let previous: string | null = null
  for (let tries = 0; ; tries++) {
    try {
      const result = await work()
      if (tries > 0) outageObserver?.onResume()
      return result
    } catch (error) {
      // A permanent error ends the outage too.
      if (tries > 0 && !isTemporary(error, outageObserver)) outageObserver?.onResume()
      if (outageObserver === undefined || !isTemporary(error, outageObserver)) throw error
      const reason = reasonOf(error)
      // A server that stops and starts again has several reasons for a moment each.
      const isOther = reported === null || (reason !== reported && reason === previous)
      if (isOther) outageObserver.onWait(error)
      if (isOther) reported = reason
      previous = reason
    }
    await wait(pauseMilliseconds(tries), undefined, { ...(signal && { signal }) }).catch(() => undefined)
    if (signal?.aborted === true) return null
  }
}

/** Returns what identifies the reason of an outage: messages have numbers that differ each time. */
function reasonOf(error: Error): string {
  return `${error.name} ${sqlStateOf(error.cause) ?? ''}`
}

function isTemporary(error: unknown, outageObserver: OutageObserver | undefined): error is Error {
  if (error instanceof DatabaseRefused) return outageObserver?.waitsForOperator === true
  return isOutage(error) || error instanceof ClockBehind || (error instanceof UnwritableRejects && error.isFull)
}

/**
 * Returns the pause before the next attempt: doubles each time, minus a random part, so that many clients do not retry
 * simultaneously.
 * @see Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
 */
function pauseMilliseconds(tries: number): number {
  const max = Math.min(maxMilliseconds, firstMilliseconds * 2 ** tries)
  return max * (1 - Math.random() / 2)
}

/** Maximum number of times that work which conflicts with other writers is tried. */
const maxTries = 5

/**
 * Repeats work that conflicts with other writers, which open the same vault or complete the same day: the repetition sees
 * their commit.
 * @throws {DatabaseUnavailable} when the conflicts do not end
 */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || (tries === maxTries && isUniqueViolation(error))) throw error
      if (tries === maxTries) throw new DatabaseUnavailable(error, 'Other writers keep changing the same rows.')
    }
  }
}
