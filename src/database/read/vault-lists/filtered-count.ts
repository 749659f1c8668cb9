import { vaultStatuses } from '../../../domain/vault.ts'
import { maxCountedVaults } from '../../../limits.ts'
import type { Read, Reader } from '../../database.ts'
import { dataVersion } from '../commit-log.ts'
import { namedLists } from '../expressions.ts'
import { isByPool, type Scope, statusesOf, strategiesOfList, type VaultFilter } from './filter.ts'
import {
  requestedColumns,
  filterColumns,
  filterValues,
  idsByPool,
  idsByValue,
  isOfStatusAndValue,
  matchesAll,
} from './filtered.ts'
import { parameters, valuesOf } from './parameters.ts'

/** Number of vaults of a list; null where there are too many to visit. */
export interface VaultCount {
  readonly list: string
  readonly count: number | null
}

/** The index by which vaults are looked up, each of which is visited. */
type Lookup = 'owner' | 'pool' | 'pool alone' | 'value of all' | 'value of a strategy'

const maxVisited = maxCountedVaults + 1

/** Maximum number of lists in one statement: all vaults of each are visited. */
const maxLists = 1

const ofValue = (scope: Scope): string =>
  `select count(*) as count, count(*) as visited from (${idsByValue(scope, maxVisited)}) found`

const countsOf: Record<Exclude<Lookup, 'pool'>, string> = {
  owner: `select count(*) filter (where ${matchesAll}) as count, count(*) as visited from (
    select vault.* from unnest(requested.owners) as wanted(owner) cross join lateral (
      (select * from vault where not owner_is_large and owner = wanted.owner limit ${maxVisited})
      union all
      (select * from vault where owner_is_large and owner = wanted.owner limit ${maxVisited})) vault limit ${maxVisited}) vault`,
  'pool alone': `select count(distinct id) as count, count(*) as visited from (${idsByPool(maxVisited)}) found`,
  'value of all': ofValue('all'),
  'value of a strategy': ofValue('strategy'),
}

/** Parameters of pages that a count has no use for, named because others follow them. */
const unused = `(${parameters.value}::text, ${parameters.address}::text, ${parameters.limit}::integer)`
const counted = `coalesce(counted.count, 0)::integer as count, counted.visited >= ${maxVisited} as "isCut", ${dataVersion}`

/** Counts each list separately. */
const listByList = (counts: string): string => `select list.strategy as list, ${counted} from ${namedLists}
  cross join lateral (select ${filterColumns}, ${unused} offset 0) requested cross join lateral (${counts}) counted`

const byStrategy = `select vault.strategy_id, count(*) as count`

/**
 * The vaults with a wanted position are counted once for all lists: looked up one by one, or joined with all vaults where
 * they are a quarter of these or more, which takes less for each. A full join cannot become a join of another kind.
 */
const byPool = `with requested as materialized (select ${requestedColumns}, ${unused}),
    repeated as materialized (select found.id from requested cross join lateral (${idsByPool(maxVisited)}) found),
    chosen as materialized (select 4 * count(*) > (select sum(${vaultStatuses.join(' + ')}) from strategy_tally) as are_many from repeated),
    counts as materialized (
      select counts.* from (select from chosen where not are_many) one cross join lateral (
        ${byStrategy} from requested cross join (select distinct id from repeated) found
          cross join lateral (select * from vault where vault.id = found.id offset 0) vault
        where ${isOfStatusAndValue} group by vault.strategy_id offset 0) counts
      union all
      select counts.* from (select from chosen where are_many) one cross join lateral (
        ${byStrategy} from requested cross join ((select distinct id from repeated) found full join vault on vault.id = found.id)
        where coalesce(found.id, 0) > 0 and ${isOfStatusAndValue} group by vault.strategy_id offset 0) counts)
  select list.strategy as list, ${counted} from ${namedLists} cross join lateral (
    select (select count(*) from repeated) as visited, sum(counts.count) as count
    from (select ${strategiesOfList(parameters.strategy)} as strategies offset 0) wanted
      join counts on wanted.strategies is null or counts.strategy_id = any(wanted.strategies)) counted`

function countStatement(lookup: Lookup): Read {
  return {
    name: `vault_count_by_${lookup.replaceAll(' ', '_')}`,
    dependsOn: 'all vaults',
    batching: { kind: 'keyed', keyProperty: 'list' },
    // The vaults of a position are visited once for all lists.
    ...(lookup !== 'pool' && { maxKeys: maxLists }),
    isLong: true,
    text: lookup === 'pool' ? byPool : listByList(countsOf[lookup]),
  }
}

const statements: Record<Lookup, Read> = {
  owner: countStatement('owner'),
  pool: countStatement('pool'),
  'pool alone': countStatement('pool alone'),
  'value of all': countStatement('value of all'),
  'value of a strategy': countStatement('value of a strategy'),
}

function lookupOf(scope: Scope, filter: VaultFilter): Lookup {
  if (scope === 'owner') return 'owner'
  if (!isByPool(filter)) return scope === 'all' ? 'value of all' : 'value of a strategy'
  return scope === 'all' && filter.status === null && filter.valueUsd === null ? 'pool alone' : 'pool'
}

/**
 * Counts the vaults of each list that match a filter by value or by position. Visits all vaults that the most selective
 * index contains, up to {@link maxCountedVaults}.
 * @returns null as the count of a list for which there are more
 */
export async function countFiltered(
  reader: Reader,
  lists: readonly string[],
  scope: Scope,
  filter: VaultFilter,
): Promise<VaultCount[]> {
  const { strategy, owner } = filter
  const counts = await reader.query<{ list: string; count: number; isCut: boolean }>(
    statements[lookupOf(scope, filter)],
    valuesOf({ lists, status: statusesOf(filter), strategy, owner, ...filterValues(filter) }),
  )
  return counts.map(({ list, count, isCut }) => ({ list, count: isCut ? null : count }))
}
