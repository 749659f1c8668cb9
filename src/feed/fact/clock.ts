import type { ValidationIssue } from '../errors.ts'
import type { Fact } from './fact.ts'

/**
 * How far a fact may be ahead of the clock: more than clocks differ by, or time zones that were taken for UTC. A vault
 * takes no fact older than its newest, so that one of a far year would be its last.
 */
const mostAheadSeconds = 86_400

/**
 * Refuses a fact from the future.
 * @param nowSeconds the time by this machine's clock, Unix seconds
 * @returns null where its time is fit
 */
export function aheadOfClock({ ts }: Fact, nowSeconds: number): ValidationIssue | null {
  if (ts <= nowSeconds + mostAheadSeconds) return null
  const reason = `is ${ts}, more than a day (${mostAheadSeconds} s) ahead of this machine's clock, ${nowSeconds}: one of the two is wrong`
  return { key: 'ts', reason }
}
