import type { Window } from '../../database/read/equity.ts'
import { InvalidArgument } from '../../domain/errors.ts'
import { maxUnixTime } from '../../limits.ts'

interface Bound {
  readonly least: number
  readonly most: number
}

/** @throws {InvalidArgument} where a number is out of its bounds */
export function requireWithin(argument: string, value: number, { least, most }: Bound): number {
  if (value >= least && value <= most) return value
  throw new InvalidArgument(argument, `is ${value}, not from ${least} to ${most}`)
}

/**
 * The distinct values of a filter; null where it isn't given.
 * @param most how many values may be given, repeated ones included
 * @throws {InvalidArgument} where there are more
 */
export function distinct<Value>(
  argument: string,
  values: readonly Value[] | null | undefined,
  most: number,
): Value[] | null {
  return values == null ? null : [...new Set(requireAtMost(argument, values, most))]
}

/** @throws {InvalidArgument} where there are more values than `most` */
export function requireAtMost<Value>(argument: string, values: readonly Value[], most: number): readonly Value[] {
  if (values.length <= most) return values
  throw new InvalidArgument(argument, `has ${values.length} values, more than ${most}`)
}

/**
 * Text that the read model can be searched for: PostgreSQL knows no NUL.
 * @throws {InvalidArgument} where there is one
 */
export function searchable(argument: string, text: string): string {
  if (!text.includes('\0')) return text
  throw new InvalidArgument(argument, 'holds a NUL, which is in no text')
}

/**
 * The span of time of `since` (included) and `until` (not included).
 * @throws {InvalidArgument} where since is after until
 */
export function windowOf(since: number | null | undefined, until: number | null | undefined): Window {
  const window = { since: since ?? 0, until: until ?? maxUnixTime + 1 }
  if (window.since <= window.until) return window
  throw new InvalidArgument('since', `is ${window.since}, after until, ${window.until}`)
}
