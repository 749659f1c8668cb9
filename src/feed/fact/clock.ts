import type { ValidationIssue } from '../errors.ts'
import type { Fact } from './fact.ts'

/**
 * Maximum time of a fact ahead of the clock: more than clock skew, or a time zone that was mistaken for UTC. The limit
 * matters because a vault accepts no fact older than its newest: a fact dated years ahead would be its last.
 */
const maxAheadSeconds = 86_400

/**
 * Returns the problem of a fact that is dated too far ahead. Only new facts are checked: a known one is skipped in any case.
 * @param nowSeconds clock of this machine in Unix seconds
 * @returns null where the fact's time is acceptable
 */
export function aheadOfClock({ ts }: Fact, nowSeconds: number): ValidationIssue | null {
  if (ts <= nowSeconds + maxAheadSeconds) return null
  const reason = `is ${ts}, more than a day (${maxAheadSeconds} s) ahead of this machine's clock, ${nowSeconds}: one of the two is wrong`
  return { key: 'ts', reason }
}

/**
 * Returns whether a time proves that the clock is wrong: facts that were compared with a clock are at most a day ahead of a
 * right one.
 * @param newestSeconds time of the newest of these facts in the database; null where there is none, which proves nothing
 */
export function isClockBehind(nowSeconds: number, newestSeconds: number | null): newestSeconds is number {
  return newestSeconds !== null && newestSeconds > nowSeconds + maxAheadSeconds
}
