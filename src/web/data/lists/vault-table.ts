import {
  Direction,
  VaultOrderField,
  VaultTableDocument,
  type VaultTableQuery,
  type VaultTableQueryVariables,
} from '../../documents.generated.ts'
import type { QueryClient } from '../gateway-client.ts'
import { readWholeList } from './whole-lists.ts'

export type TableVault = VaultTableQuery['vaults']['nodes'][number]

/** Maximum number of vaults of one query. */
const maxVaults = 200
/** An order that does not change while the pages are read, so that each vault is on exactly one page. */
const byAddress = { field: VaultOrderField.Address, direction: Direction.Asc }
/** Decimals of an amount in USD. */
const decimals = 6

/** Keys that order vaults as the gateway does. */
const keyOf: Readonly<Record<VaultOrderField, (vault: TableVault) => bigint>> = {
  ADDRESS: ({ address }) => BigInt(address),
  CAPITAL_IN_USD: ({ capitalInUsd }) => exactKey(capitalInUsd),
  NET_USD: ({ netUsd }) => exactKey(netUsd),
  STRATEGY_DELTA_USD: ({ strategyDeltaUsd }) => exactKey(strategyDeltaUsd),
  UPDATED_AT: ({ updatedAt }) => BigInt(updatedAt),
  VALUE_USD: ({ valueUsd }) => exactKey(valueUsd),
}

/**
 * Reads all vaults of a filter, and sorts them in the gateway's order, with equal amounts by address.
 * @throws {CombinedError} when the request for a page fails
 */
export async function readVaultTable(
  client: QueryClient,
  { orderBy, where }: Pick<VaultTableQueryVariables, 'orderBy' | 'where'>,
): Promise<readonly TableVault[]> {
  const variables = { first: maxVaults, orderBy: byAddress, where }
  const vaults = await readWholeList(client, VaultTableDocument, variables, (data) => data.vaults)
  const key = keyOf[orderBy.field]
  const keyed = vaults.map((vault) => ({ vault, key: key(vault) }))
  // The sort is stable: vaults with equal keys remain ordered by address.
  const sorted = keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ vault }) => vault)
  return orderBy.direction === Direction.Desc ? sorted.reverse() : sorted
}

/** Returns an amount in millionths of a USD. */
function exactKey(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`)
}
