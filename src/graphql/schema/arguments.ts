import type { Window } from '../../database/read/equity.ts'
import { InvalidArgument } from '../../domain/errors.ts'
import { maxUnixTime } from '../../limits.ts'

/** Returns a window cut off after a moment in the past; the window itself without a moment. */
export function upTo(window: Window, moment: { readonly at: number } | null): Window {
  if (moment === null) return window
  const until = Math.min(window.until, moment.at + 1)
  return { since: Math.min(window.since, until), until }
}

interface Bound {
  readonly min: number
  readonly max: number
}

/**
 * Checks that a number is within its limits.
 * @throws {InvalidArgument} if it is not
 */
export function requireWithin(argument: string, value: number, { min, max }: Bound): number {
  if (value >= min && value <= max) return value
  throw new InvalidArgument(argument, `is ${value}, not from ${min} to ${max}`)
}

/**
 * Returns the distinct values of a filter; null if there is no filter.
 * @param max maximum number of values, including repeated ones
 * @throws {InvalidArgument} if there are more
 */
export function distinct<Value>(
  argument: string,
  values: readonly Value[] | null | undefined,
  max: number,
): Value[] | null {
  return values == null ? null : [...new Set(requireAtMost(argument, values, max))]
}

/**
 * Checks the number of values.
 * @throws {InvalidArgument} if there are more values than `max`
 */
export function requireAtMost<Value>(argument: string, values: readonly Value[], max: number): readonly Value[] {
  if (values.length <= max) return values
  throw new InvalidArgument(argument, `has ${values.length} values, more than ${max}`)
}

/**
 * Checks a text that is compared with the read model: PostgreSQL does not accept NUL, and half of a surrogate pair would
 * be sent as U+FFFD.
 * @throws {InvalidArgument} if the text contains one
 */
export function searchable(argument: string, text: string): string {
  if (text.includes('\0')) throw new InvalidArgument(argument, 'holds a NUL, which is in no text')
  if (!text.isWellFormed()) throw new InvalidArgument(argument, 'holds half of a surrogate pair, which is in no text')
  return text
}

/**
 * Returns the time window from `since` (inclusive) to `until` (exclusive).
 * @throws {InvalidArgument} if since is after until
 */
export function windowOf(since: number | null | undefined, until: number | null | undefined): Window {
  const window = { since: since ?? 0, until: until ?? maxUnixTime + 1 }
  if (window.since <= window.until) return window
  throw new InvalidArgument('since', `is ${window.since}, after until, ${window.until}`)
}
