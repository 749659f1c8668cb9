import { type VaultStatus, vaultStatuses } from '../../../domain/vault.ts'

/** Restricts lists of vaults; null matches all. */
export interface VaultFilter {
  readonly status: readonly VaultStatus[] | null
  readonly strategy: readonly string[] | null
  readonly owner: readonly string[] | null
  readonly valueUsd: ValueRange | null
  /** Together with `venue`, one open position must have one of the pairs at one of the venues. */
  readonly pair: readonly Pair[] | null
  readonly venue: readonly string[] | null
}

/** Bounds of a value in USD, both included; null for none. */
export interface ValueRange {
  readonly gte: string | null
  readonly lte: string | null
}

/** A pair of assets, by the symbols that pools of positions contain. */
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

/** Restriction of a list, apart from its statuses: each scope has separate statements. */
export type Scope = 'all' | 'strategy' | 'owner'

/** Lists that one statement reads. */
export interface ListsInScope {
  readonly scope: Scope
  /** The strategy of each list, or `allStrategies`. */
  readonly lists: readonly string[]
}

/**
 * Groups lists by their scopes: the statements of all vaults ignore the strategies of lists.
 * @param lists the strategy of each list, or `allStrategies`
 */
export function byScope(lists: readonly string[], { strategy, owner }: VaultFilter): readonly ListsInScope[] {
  if (owner !== null) return [{ scope: 'owner', lists }]
  if (strategy !== null || !lists.includes(allStrategies)) return [{ scope: 'strategy', lists }]
  const ofStrategies = lists.filter((list) => list !== allStrategies)
  const ofAll = { scope: 'all', lists: [allStrategies] } as const
  return ofStrategies.length === 0 ? [ofAll] : [ofAll, { scope: 'strategy', lists: ofStrategies }]
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
 * Returns the SQL of the strategies whose vaults a list may contain, where `list` is the row of the list; null for all.
 * @param filter parameter with the strategies of the filter, or null
 */
export function strategiesOfList(filter: string): string {
  const given = `(select ${filter}::text[])`
  return `(case when list.strategy = '${allStrategies}' then ${given}
    when ${given} is null or list.strategy = any(${given}::text[]) then array[list.strategy] else '{}' end)`
}
