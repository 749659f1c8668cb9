import { type VaultStatus, vaultStatuses } from '../../../domain/vault.ts'

/** Restricts lists of vaults; null matches all. */
export interface VaultFilter {
  readonly status: readonly VaultStatus[] | null
  readonly strategy: readonly string[] | null
  readonly owner: readonly string[] | null
  readonly valueUsd: ValueRange | null
  /** With `venue` too, one open position is of one of the pairs and at one of the venues. */
  readonly pair: readonly Pair[] | null
  readonly venue: readonly string[] | null
}

/** Bounds of a value in USD, both included; null for none. */
export interface ValueRange {
  readonly gte: string | null
  readonly lte: string | null
}

/** A pair of assets, by their symbols as the pools of positions have them. */
export interface Pair {
  readonly a: string
  readonly b: string
}

/** Matches all vaults. */
export const anyVault: VaultFilter = {
  status: null,
  strategy: null,
  owner: null,
  valueUsd: null,
  pair: null,
  venue: null,
}

/** Name of the list of all vaults, among the lists of one strategy each: no strategy has an empty id. */
export const allStrategies = ''

/** By what a list is restricted, its statuses aside: each scope has statements of its own. */
export type Scope = 'all' | 'strategy' | 'owner'

/**
 * Returns the scope of lists.
 * @param lists the strategy of each list, or `allStrategies`; those of one read are all of strategies, or none is
 */
export function scopeOf(lists: readonly string[], { strategy, owner }: VaultFilter): Scope {
  if (owner !== null) return 'owner'
  return strategy !== null || !lists.includes(allStrategies) ? 'strategy' : 'all'
}

/** Returns the wanted statuses. */
export function statusesOf({ status }: VaultFilter): readonly VaultStatus[] {
  return status ?? vaultStatuses
}

/** Returns whether vaults are restricted by their positions. */
export function isByPool({ pair, venue }: VaultFilter): boolean {
  return pair !== null || venue !== null
}

/**
 * Returns the SQL of the strategies that a list may have vaults of, where `list` is the row of the list; null for all.
 * @param filter parameter with the strategies of the filter, or null
 */
export function strategiesOfList(filter: string): string {
  const given = `(select ${filter}::text[])`
  return `(case when list.strategy = '${allStrategies}' then ${given}
    when ${given} is null or list.strategy = any(${given}::text[]) then array[list.strategy] else '{}' end)`
}
