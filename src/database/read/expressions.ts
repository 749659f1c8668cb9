import type { Value } from '../database.ts'

/** The parameters of a statement by name. */
export interface NamedParameters<Name extends string> {
  /** SQL of each: `$1` is the first. */
  readonly sql: Readonly<Record<Name, `$${number}`>>
  /** Returns the values in the order of the parameters, up to the last one that is given; null for those left out before it. */
  readonly values: (given: Readonly<Partial<Record<Name, Value>>>) => Value[]
}

/** Numbers the parameters of a statement in the order of their names; those that not every statement has are the last. */
export function namedParameters<const Name extends string>(names: readonly Name[]): NamedParameters<Name> {
  const numbered = names.map((name, place) => [name, `$${place + 1}`])
  return {
    sql: Object.fromEntries(numbered) as Record<Name, `$${number}`>,
    values(given) {
      const last = names.findLastIndex((name) => name in given)
      return names.slice(0, last + 1).map((name) => given[name] ?? null)
    },
  }
}

/*
 * The keys of a read, one row each. A subquery hides their number from the planner, which would otherwise prefer a new plan
 * for each execution to its cached plan: planning takes longer than most reads.
 * See PostgreSQL documentation, PREPARE, "Notes" on generic and custom plans.
 */
/** SQL of the vaults in a read's first value. */
export const namedVaults = 'unnest((select $1::text[])) as list(vault)'
/** SQL of the lists in a read's first value, by their strategies. */
export const namedLists = 'unnest((select $1::text[])) as list(strategy)'

/**
 * Returns the SQL expression that encodes an equity point as downsampling input: time, net of flows, capital in and out, and
 * the market's part of the gain or nothing, separated by spaces. The value is computed from these.
 * @param netUsd SQL expression of net of flows
 */
export function encodedPoint(netUsd = 'value_usd + capital_out_usd - capital_in_usd'): string {
  const amounts = [netUsd, 'capital_in_usd', 'capital_out_usd']
  const known = amounts.map((amount) => `trim_scale(${amount})`).join(', ')
  return `concat_ws(' ', ts, ${known}, coalesce(trim_scale(market_delta_usd)::text, ''))`
}

/** Returns the SQL expression of bytes as `0x` and hexadecimal digits in lower case. */
export function hexOf<const Bytes extends string>(bytes: Bytes): `'0x' || encode(${Bytes}, 'hex')` {
  return `'0x' || encode(${bytes}, 'hex')`
}

/** Returns the SQL expression of the bytes that a text of `0x` and hexadecimal digits encodes. */
export function bytesOf(text: string): string {
  return `decode(substr(${text}, 3), 'hex')`
}

/** The fingerprint of a position in a chain: it begins with a block hash. That of a file has digests of 22 characters. */
export const chainFingerprint = /^0x[0-9a-f]{64}( |$)/

/** SQL condition on a stored position of a feed: it is one in a chain. */
export const isChainPosition = `fingerprint ~ '${chainFingerprint.source}'`
