import { vaultStatuses, type VaultStatus } from '../../../domain/vault.ts'
import { strategiesOfList, type Scope } from './filter.ts'
import type { OrderSql } from './order.ts'
import { parameters } from './parameters.ts'

/** Maximum number of rows of a page, with the row that indicates a next page. */
export const maxPageRows = 256

const strategies = strategiesOfList(parameters.strategy)
const owners = `unnest((select ${parameters.owner}::text[])) as wanted(owner)`

/** The part of the ranges of an index that is selected. */
export interface Extent {
  /** Limit of each range, a number that the planner knows: it then reads the index in order, and does not sort all rows. */
  readonly maxRows: number
  /** LIMIT clause of the ranges together. */
  readonly limit: string
  /** Further condition of the rows of a range, which its index bounds; begins with AND. */
  readonly bounds?: string
}

/** The rows of a page. */
export const pageExtent: Extent = { maxRows: maxPageRows, limit: `limit (select ${parameters.limit}::integer)` }

/**
 * Selects vaults in order from one index, whose columns are those of `equal`, the status and the order. The ranges of its
 * statuses are merged lazily (Merge Append): as many rows are read as are returned, and one more for each status.
 */
export function inOrder(equal: string, sql: OrderSql, { maxRows, limit, bounds = '' }: Extent): string {
  const { addressBytes, afterCursor, orderBy, orderByIndex } = sql
  const rangeOf = (status: VaultStatus): string => `(
    select vault.*, ${addressBytes} as address_bytes from vault
    where ${equal} status = '${status}' and '${status}' = any(requested.statuses) and ${afterCursor} ${bounds}
    order by ${orderByIndex} limit ${maxRows})`
  return `select * from (${vaultStatuses.map(rangeOf).join(' union all ')}) vault order by ${orderBy} ${limit}`
}

/** SQL condition of the rows of a table that are of the strategies of a list. */
const among = (table: string): string => `(${strategies} is null or ${table}.strategy_id = any(${strategies}))`

/** Selects the vaults of small owners, which are few: they are sorted. */
export function ofSmallOwners({ addressBytes, afterCursor }: OrderSql, bounds = ''): string {
  return `select few.* from ${owners} cross join lateral (
    select vault.*, ${addressBytes} as address_bytes from vault
    where not owner_is_large and owner = wanted.owner and status = any(requested.statuses) and ${among('vault')}
      and ${afterCursor} ${bounds} offset 0) few`
}

/** SQL of the parts of an index: a row for each, and the equalities of its columns. */
interface Groups {
  readonly from: string
  readonly equal: string
}

/** The parts of the indexes of a scope that a list is merged from; the row `part` has their number in `parts`. */
export const partsOf: Record<Scope, Groups> = {
  all: { from: '(select 1 as parts) part', equal: '' },
  // Strategies that do not exist are left out: the look-up of one takes much less time than its ranges do.
  strategy: {
    from: `(select wanted.strategy, count(*) over () as parts from unnest(${strategies}) as wanted(strategy)
      where exists (select from strategy where id = wanted.strategy)) part`,
    equal: 'strategy_id = part.strategy and',
  },
  // The vaults of a large owner are a part for each of its strategies.
  owner: {
    from: `(select tally.owner, tally.strategy_id, count(*) over () as parts from ${owners} cross join lateral (
      select * from owner_tally tally where owner = wanted.owner and large > 0 and ${among('tally')} offset 0) tally) part`,
    equal: 'owner_is_large and owner = part.owner and strategy_id = part.strategy_id and',
  },
}

/** Selects the vaults of a scope in order. */
export function inScope(scope: Scope, sql: OrderSql, extent: Extent): string {
  const { from, equal } = partsOf[scope]
  const ordered = inOrder(equal, sql, extent)
  const end = `order by ${sql.orderBy} ${extent.limit}`
  if (scope === 'all') return ordered
  const merged = `select vault.* from ${from} cross join lateral (${ordered}) vault ${end}`
  if (scope === 'strategy') return merged
  return `select vault.* from ((select * from (${ofSmallOwners(sql, extent.bounds)}) few ${end}) union all (${merged})) vault ${end}`
}
