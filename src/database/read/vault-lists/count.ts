import { vaultStatuses } from '../../../domain/vault.ts'
import type { Read, Reader } from '../../database.ts'
import { dataVersion } from '../commit-log.ts'
import { namedLists } from '../expressions.ts'
import { type Scope, scopeOf, statusesOf, strategiesOfList, type VaultFilter } from './filter.ts'
import { isFiltered } from './filtered.ts'
import { countFiltered } from './filtered-count.ts'

/** SQL of the number of vaults in the wanted statuses, by a row of tallies. */
const ofStatuses = vaultStatuses
  .map((status) => `case when '${status}' = any((select $2::text[])::text[]) then ${status} else 0 end`)
  .join(' + ')

const strategies = strategiesOfList('$3')

/** The tallies of a scope, and the number of their parameters. */
const talliesOf: Record<Scope, { readonly from: string; readonly parameters: number }> = {
  all: { from: 'from strategy_tally', parameters: 2 },
  strategy: { from: `from strategy_tally where strategy_id = any(${strategies})`, parameters: 3 },
  owner: {
    from: `from owner_tally where owner = any($4::text[])
      and (${strategies} is null or strategy_id = any(${strategies}))`,
    parameters: 4,
  },
}

function countStatement(scope: Scope): Read {
  return {
    name: `vault_count${scope === 'all' ? '' : `_of_${scope}`}`,
    dependsOn: 'all vaults',
    batching: { kind: 'keyed', keyProperty: 'list' },
    text: `select list.strategy as list, counted.count, ${dataVersion} from ${namedLists}
      cross join lateral (select coalesce(sum(${ofStatuses}), 0)::integer as count ${talliesOf[scope].from}) counted`,
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
export function countVaults(
  database: Reader,
  lists: readonly string[],
  filter: VaultFilter,
): Promise<{ list: string; count: number | null }[]> {
  const scope = scopeOf(lists, filter)
  if (isFiltered(filter)) return countFiltered(database, lists, scope, filter)
  const values = [lists, statusesOf(filter), filter.strategy, filter.owner]
  return database.query(statements[scope], values.slice(0, talliesOf[scope].parameters))
}
