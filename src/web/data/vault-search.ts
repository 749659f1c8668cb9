import {
  SearchDocument,
  type StrategyNamesQuery,
  VaultAddressesDocument,
  type VaultAddressesQuery,
} from '../documents.generated.ts'
import { allVaults, type PageState, vaultState } from '../page-state.ts'
import { formatCount } from '../format/figures.ts'
import type { QueryClient, QueryResult } from './gateway-client.ts'
import { readOnce, readWholeList } from './lists/whole-lists.ts'
import { hasPart, type SearchTarget } from './search-target.ts'

type PartOfAddress = Extract<SearchTarget, { readonly kind: 'part' }>

/** A page found by a search. */
export interface SearchHit {
  readonly to: PageState
  readonly name: string
  readonly kind: 'vault' | 'owner' | 'strategy' | 'page'
}

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  readonly note: string
}

/** Maximum vaults of one query, and maximum queries to compare a partial address with. */
const [vaultsOfPage, maxPages] = [200, 10]

/**
 * Finds pages. The gateway finds vaults by their whole address or their owner's; a partial address is compared with the
 * addresses of the most valuable vaults.
 * @param strategies the newest result of the query for their names
 * @throws {CombinedError} when the gateway does not answer
 */
export async function searchVaults(
  client: QueryClient,
  target: SearchTarget,
  strategies: QueryResult<StrategyNamesQuery>,
): Promise<SearchResult> {
  switch (target.kind) {
    case 'page':
      return { hits: [{ to: target.state, name: 'page', kind: 'page' }], note: '' }
    case 'transaction':
      return { hits: [], note: "This is a transaction's hash: open its vault, whose ledger lists its transactions." }
    case 'address':
      return byAddress(client, target.address)
    case 'part':
      return byPart(client, target)
    case 'name':
      return byName(target.name, strategies)
  }
}

async function byAddress(client: QueryClient, address: string): Promise<SearchResult> {
  const { vault, vaults } = await readOnce(client, SearchDocument, { address })
  if (vault !== null) return { hits: [vaultHit(vault.address)], note: '' }
  if (vaults.totalCount > 0) return { hits: [ownerHit(address)], note: '' }
  return { hits: [], note: 'No vault or owner has this address.' }
}

async function byPart(client: QueryClient, part: PartOfAddress): Promise<SearchResult> {
  let total = 0
  const pageOf = ({ vaults }: VaultAddressesQuery) => {
    total = vaults.totalCount
    return vaults
  }
  const vaults = await readWholeList(client, VaultAddressesDocument, { first: vaultsOfPage }, pageOf, maxPages)
  const owners = [...new Set(vaults.map(({ owner }) => owner))]
  const hits = [
    ...vaults.filter(({ address }) => hasPart(address, part)).map(({ address }) => vaultHit(address)),
    ...owners.filter((owner) => hasPart(owner, part)).map(ownerHit),
  ]
  const among = vaults.length < total ? ` among the ${formatCount(vaults.length)} most valuable vaults` : ''
  const count =
    hits.length === 0 ? 'No address' : hits.length === 1 ? 'One address' : `${formatCount(hits.length)} addresses`
  return { hits, note: `${count}${among} like this.` }
}

function byName(name: string, { data, error }: QueryResult<StrategyNamesQuery>): SearchResult {
  if (data === undefined) {
    if (error !== undefined) throw error
    return { hits: [], note: 'The strategies are still loading: search again in a moment.' }
  }
  const wanted = name.toLowerCase()
  const found = data.strategies.filter((strategy) =>
    [strategy.id, strategy.name].some((text) => text.toLowerCase().includes(wanted)),
  )
  const hits = found.map(({ id, name: title }): SearchHit => {
    return { to: { ...allVaults, strategy: id }, name: title, kind: 'strategy' }
  })
  if (hits.length > 0) return { hits, note: `${formatCount(hits.length)} strategies.` }
  return { hits, note: 'No strategy has such a name. Addresses are searched for by their first digits, 0x12…' }
}

function vaultHit(address: string): SearchHit {
  return { to: vaultState(address), name: address, kind: 'vault' }
}

function ownerHit(owner: string): SearchHit {
  return { to: { ...allVaults, owner }, name: owner, kind: 'owner' }
}
