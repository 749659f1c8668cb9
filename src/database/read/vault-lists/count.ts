import { vaultStatuses } from '../../../domain/vault.ts'
import type { Read, Reader } from '../../database.ts'
import { dataVersion } from '../commit-log.ts'
import { namedLists, namedParameters } from '../expressions.ts'
import { byScope, type ListsInScope, type Scope, statusesOf, strategiesOfList, type VaultFilter } from './filter.ts'
import { isFiltered } from './filtered.ts'
import { countFiltered, type VaultCount } from './filtered-count.ts'

/** Parameters of the statements: those of the strategies and the owners are left out where their scope has none. */
const { sql: parameters, values: valuesOf } = namedParameters(['lists', 'status', 'strategy', 'owner'])

/** SQL of the number of vaults in the wanted statuses, by a row of tallies. */
const ofStatuses = vaultStatuses
  .map(
    (status) => `case when '${status}' = any((select ${parameters.status}::text[])::text[]) then ${status} else 0 end`,
  )
  .join(' + ')

const strategies = strategiesOfList(parameters.strategy)

/** The tallies of a scope. */
const talliesOf: Record<Scope, string> = {
  all: 'from strategy_tally',
  strategy: `from strategy_tally where strategy_id = any(${strategies})`,
  owner: `from owner_tally where owner = any(${parameters.owner}::text[])
    and (${strategies} is null or strategy_id = any(${strategies}))`,
}

function countStatement(scope: Scope): Read {
  return {
    name: `vault_count${scope === 'all' ? '' : `_of_${scope}`}`,
    dependsOn: 'all vaults',
    batching: { kind: 'keyed', keyProperty: 'list' },
    text: `select list.strategy as list, counted.count, ${dataVersion} from ${namedLists}
      cross join lateral (select coalesce(sum(${ofStatuses}), 0)::integer as count ${talliesOf[scope]}) counted`,
  }
}

const statements: Record<Scope, Read> = {
  all: countStatement('all'),
  strategy: countStatement('strategy'),
  owner: countStatement('owner'),
}

/**
 * Counts the vaults of each list that match a filter: by the tallies that the projector maintains, or, for a filter by value
 * or position, by visiting vaults.
 * @returns null as the count of a list for which there are too many to visit
 */
export async function countVaults(
  reader: Reader,
  lists: readonly string[],
  filter: VaultFilter,
): Promise<VaultCount[]> {
  const counts = byScope(lists, filter).map((inScope) => countInScope(reader, inScope, filter))
  return (await Promise.all(counts)).flat()
}

function countInScope(reader: Reader, { scope, lists }: ListsInScope, filter: VaultFilter): Promise<VaultCount[]> {
  if (isFiltered(filter)) return countFiltered(reader, lists, scope, filter)
  const { strategy, owner } = filter
  const ofScope = { all: {}, strategy: { strategy }, owner: { strategy, owner } }[scope]
  return reader.query(statements[scope], valuesOf({ lists, status: statusesOf(filter), ...ofScope }))
}
