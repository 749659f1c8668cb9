import { vaultStatuses } from '../../../domain/vault.ts'
import { isByPool, type Scope, strategiesOfList, type VaultFilter } from './filter.ts'
import { bytesOf } from '../expressions.ts'
import type { OrderSql } from './order.ts'
import { parameters, type PageValues } from './parameters.ts'
import { inOrder, ofSmallOwners, pageExtent, partsOf } from './ranges.ts'

/** Maximum number of vaults that match a filter by value or position and are sorted: that takes a few milliseconds. */
const maxSorted = 1_000
/** Maximum number of vaults that are tested against a filter in the order of an index. */
const maxScanned = 3_000
/** Minimum number of tested vaults for each strategy and owner of a list. */
const leastScannedEach = 10

/** SQL of a pair as one text, by which pairs are equal only if both symbols are. */
const pairText = (of: string): string => `length(${of}.a) || ' ' || ${of}.a || ${of}.b`

/** The filter, strategies aside, as columns of the row `requested`. */
export const requestedColumns = `
  ${parameters.status}::text[]::vault_status[] as statuses, ${parameters.owner}::text[] as owners,
  ${parameters.gte}::numeric as gte, ${parameters.lte}::numeric as lte,
  ${parameters.pairA}::text[] as pair_a, ${parameters.pairB}::text[] as pair_b, ${parameters.venue}::text[] as venues,
  (select array_agg(${pairText('pair')}) from unnest(${parameters.pairA}::text[], ${parameters.pairB}::text[]) as pair(a, b)) as pairs,
  ${parameters.pairA}::text[] is not null or ${parameters.venue}::text[] is not null as is_by_pool,
  ${parameters.gte}::numeric > '-Infinity' or ${parameters.lte}::numeric < 'Infinity' as is_by_value`
/** {@link requestedColumns} with the strategies of the row `list`. */
export const filterColumns = `${strategiesOfList(parameters.strategy)} as strategies, ${requestedColumns}`

/** Returns the values of a filter by value and position. */
export function filterValues({ valueUsd, pair, venue }: VaultFilter): PageValues {
  const [gte, lte] = [valueUsd?.gte ?? '-Infinity', valueUsd?.lte ?? 'Infinity']
  return { gte, lte, pairA: pair?.map(({ a }) => a) ?? null, pairB: pair?.map(({ b }) => b) ?? null, venue }
}

/** Returns whether a list has a filter that is not a prefix of the indexes. */
export function isFiltered(filter: VaultFilter): boolean {
  return isByPool(filter) || filter.valueUsd !== null
}

const isOfValue = 'vault.value_usd between requested.gte and requested.lte'
/** SQL condition of the vaults that have a wanted value and position. */
const isOfValueAndPool = `${isOfValue} and (not requested.is_by_pool or exists (
  select from vault_pool pool where pool.vault_id = vault.id and (requested.venues is null or pool.venue = any(requested.venues))
    and (requested.pair_a is null or ${pairText('pool')} = any(requested.pairs))))`
/** SQL condition of the vaults in a wanted status, of a wanted value. */
export const isOfStatusAndValue = `vault.status = any(requested.statuses) and ${isOfValue}`
const isOfStrategyAndOwner = `(requested.strategies is null or vault.strategy_id = any(requested.strategies))
  and (requested.owners is null or vault.owner = any(requested.owners))`
/** SQL condition of the vaults that match the whole filter. */
export const matchesAll = `vault.status = any(requested.statuses) and ${isOfStrategyAndOwner} and ${isOfValueAndPool}`

const pairs = 'unnest(requested.pair_a, requested.pair_b) as pair(a, b)'
const venues = 'unnest(requested.venues) as place(venue)'

/**
 * SQL condition of the positions of a pair. The ranges repeat the equalities, so that the planner expects fewer rows from the
 * index that starts with a pair: it would scan another index for each pair where nearly all vaults have one pool.
 */
const isOfPair = 'a = pair.a and b = pair.b and (a, b) >= (pair.a, pair.b) and (a, b) <= (pair.a, pair.b)'

/**
 * Selects the ids of vaults by their positions, some of them repeatedly. The order makes the planner use an index, whatever the
 * statistics of a pair.
 */
export function idsByPool(maxRows: number): string {
  const pools = (condition: string, order: string): string => `cross join lateral (
    select vault_id from vault_pool where ${condition} order by ${order} limit ${maxRows}) pool`
  return `select vault_id as id from (
      select vault_id from ${pairs} ${pools(isOfPair, 'a, b, venue, vault_id')} where requested.venues is null
      union all
      select vault_id from ${venues} ${pools('venue = place.venue', 'venue, vault_id')} where requested.pair_a is null
      union all
      select vault_id from ${pairs} cross join ${venues}
        ${pools(`${isOfPair} and venue = place.venue`, 'a, b, venue, vault_id')}) found limit ${maxRows}`
}

const bytes = bytesOf('vault.address')
/**
 * SQL condition of a range of values, in the form of the indexes: for a range of one column, the planner would expect so few
 * rows that it would sort them.
 */
const inRange = `(vault.value_usd, ${bytes}) >= (requested.gte, ''::bytea)
  and (vault.value_usd, ${bytes}) <= (requested.lte, '\\x${'ff'.repeat(21)}'::bytea)`

/**
 * Selects the ids of vaults by their value, of the strategies of a list where it has any. The order makes the planner use the
 * index by value: in any other order it may read many vaults of other values first.
 */
export function idsByValue(scope: Scope, maxRows: number): string {
  const { from, equal } = partsOf[scope === 'strategy' ? 'strategy' : 'all']
  const ranges = vaultStatuses.map(
    (status) => `(select id from vault where ${equal} status = '${status}' and '${status}' = any(requested.statuses)
      and ${inRange} order by value_usd, ${bytes} limit ${maxRows})`,
  )
  return `select found.id from ${from} cross join lateral (${ranges.join(' union all ')}) found limit ${maxRows}`
}

/**
 * Selects the page of a list by filters that are no prefix of an index. Where few vaults match the filter by position or
 * value, these are sorted. Else vaults are examined in order, up to a maximum: the last vault examined of each part of the list
 * has `is_last_examined`, whether it matches or not, and the page ends with the first of these.
 */
export function filteredInScope(scope: Scope, sql: OrderSql): string {
  const end = `order by ${sql.orderBy} ${pageExtent.limit}`
  const few = (ids: string, method: string, condition: string): string => `
    select vault.*, ${sql.addressBytes} as address_bytes, 0::bigint as place, false as is_last_examined, true as is_match
    from (select distinct id from ${ids} where (select method from chosen) = '${method}') found
      cross join lateral (select * from vault where vault.id = found.id offset 0) vault
    where ${condition} and ${sql.afterCursor} ${end}`
  // Vaults that are found by their positions need no second test of their positions.
  const byPool = few('by_pool', 'pool', `${isOfStatusAndValue} and ${isOfStrategyAndOwner}`)
  const byValue = few('by_value', 'value', matchesAll)
  return `with by_pool as materialized (${idsByPool(maxSorted + 1)}),
      by_value as materialized (${idsByValue(scope, maxSorted + 1)}),
      chosen as materialized (select case
        when requested.is_by_pool and (select count(*) from by_pool) <= ${maxSorted} then 'pool'
        when requested.is_by_value and (select count(*) from by_value) <= ${maxSorted} then 'value' else 'order' end as method)
    select * from ((${byPool}) union all (${byValue}) union all (${scanned(scope, sql, end)})) vault ${end}`
}

function scanned(scope: Scope, sql: OrderSql, end: string): string {
  const { from, equal } = partsOf[scope]
  const each = scope === 'all' ? String(maxScanned) : `greatest(${maxScanned} / part.parts, ${leastScannedEach})`
  const examined = (vaults: string): string =>
    `select vault.*, test.is_match from (${vaults}) vault cross join lateral (select ${isOfValueAndPool} as is_match offset 0) test
      where is_match or is_last_examined ${end}`
  const ordered = inOrder(equal, sql, { maxRows: maxScanned, limit: `limit ${each}` })
  const ranked = `select ranked.*, place = ${each} as is_last_examined from (
    select vault.*, row_number() over (order by ${sql.orderBy}) as place from (${ordered}) vault) ranked`
  const parts = `select vault.* from (select from chosen where method = 'order') one cross join ${from}
    cross join lateral (${examined(ranked)}) vault ${end}`
  if (scope !== 'owner') return parts
  const few = examined(
    `select vault.*, 0::bigint as place, false as is_last_examined from (${ofSmallOwners(sql)}) vault`,
  )
  return `select * from ((${parts}) union all (
    select vault.* from (select from chosen where method = 'order') one cross join lateral (${few}) vault)) vault ${end}`
}
