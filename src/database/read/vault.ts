import type { VaultStatus } from '../../domain/vault.ts'
import type { Read, Reader } from '../database.ts'
import type { PositionRow, VaultRow } from './rows.ts'

const columns = `
  vault.address, vault.owner, vault.strategy_id as "strategyId", vault.status::text as status,
  vault.value_usd::text as "valueUsd", vault.capital_in_usd::text as "capitalInUsd",
  vault.capital_out_usd::text as "capitalOutUsd", vault.net_usd::text as "netUsd",
  vault.strategy_delta_usd::text as "strategyDeltaUsd", vault.market_delta_usd::text as "marketDeltaUsd",
  vault.fees_contributed_usd::text as "feesContributedUsd", vault.fees_withdrawn_usd::text as "feesWithdrawnUsd",
  vault.fees_taxed_usd::text as "feesTaxedUsd", vault.fees_high_water_usd::text as "feesHighWaterUsd",
  vault.suspension_reason as "suspensionReason", vault.suspended_at::float8 as "suspendedAt",
  vault.updated_at::float8 as "updatedAt"`

const vaultsByAddress: Read = {
  name: 'vaults_by_address',
  from: 'named vaults',
  sharedBy: 'address',
  text: `select ${columns} from vault where address = any($1::text[])`,
}

const positionsByVault: Read = {
  name: 'positions_by_vault',
  from: 'named vaults',
  sharedBy: 'vaultAddress',
  text: `select vault_address as "vaultAddress", id, a, b, venue, fee_tier as "feeTier",
      price_lower::text as "priceLower", price_upper::text as "priceUpper", price_current::text as "priceCurrent",
      tick_lower as "tickLower", tick_upper as "tickUpper", tick_current as "tickCurrent",
      in_range as "inRange", pending_rewards_usd::text as "pendingRewardsUsd"
    from position where vault_address = any($1::text[]) order by vault_address, ordinal`,
}

/** Vaults by address, in no order; those that aren't known are left out. */
export function readVaults(database: Reader, addresses: readonly string[]): Promise<VaultRow[]> {
  return database.query(vaultsByAddress, [addresses])
}

/** The open positions of vaults, each vault's in the order of its newest mark. */
export function readPositions(database: Reader, addresses: readonly string[]): Promise<PositionRow[]> {
  return database.query(positionsByVault, [addresses])
}

/** An address by its digits, in either case, whatever the database's collation: as its indexes have it. */
const digitsOf = (address: string): string => `(lower(${address}) collate "C")`

interface OrderKey {
  readonly column: string
  /** What is compared of a value of the column. */
  readonly key: (value: string) => string
  readonly type: string
}

const itself = (value: string): string => value

/** What lists of vaults can be ordered by; the address decides between equals. */
export const vaultOrders = {
  VALUE_USD: { column: 'value_usd', key: itself, type: 'numeric' },
  NET_USD: { column: 'net_usd', key: itself, type: 'numeric' },
  UPDATED_AT: { column: 'updated_at', key: itself, type: 'bigint' },
  ADDRESS: { column: 'address', key: digitsOf, type: 'text' },
} as const satisfies Record<string, OrderKey>
export type VaultOrder = keyof typeof vaultOrders
export type Direction = 'ASC' | 'DESC'

export interface VaultFilter {
  readonly status: readonly VaultStatus[] | null
  readonly strategy: readonly string[] | null
  readonly owner: readonly string[] | null
}

/** Where a page begins: after the vault with this address, whose order column had this value. */
export interface VaultCursor {
  readonly value: string
  readonly address: string
}

export interface VaultPage {
  readonly filter: VaultFilter
  readonly orderBy: VaultOrder
  readonly direction: Direction
  readonly first: number
  readonly after: VaultCursor | null
}

/** The list of all vaults, beside those of each strategy's: no strategy has an empty id. */
export const allStrategies = ''

/** A vault in a page: which list it is in, and what its cursor is made of. */
export interface PagedVaultRow extends VaultRow {
  /** The strategy that the list is of, or `allStrategies`. */
  readonly list: string
  readonly orderValue: string
}

const matches = `(list.strategy = '${allStrategies}' or vault.strategy_id = list.strategy)
  and ($2::text[] is null or vault.status = any($2::text[]::vault_status[]))
  and ($3::text[] is null or vault.strategy_id = any($3::text[]))
  and ($4::text[] is null or vault.owner = any($4::text[]))`

function pageStatement({ orderBy, direction }: VaultPage): Read {
  const { column, key, type } = vaultOrders[orderBy]
  const beyond = direction === 'ASC' ? '>' : '<'
  const [orderKey, address] = [key(`vault.${column}`), digitsOf('vault.address')]
  return {
    name: `vault_page_${orderBy}_${direction}`,
    from: 'all vaults',
    text: `select list.strategy as list, page.* from unnest($1::text[]) as list(strategy) cross join lateral (
        select ${columns}, vault.${column}::text as "orderValue" from vault
        where ${matches}
          and ($5::text is null or (${orderKey}, ${address}) ${beyond} (${key(`$5::text::${type}`)}, ${digitsOf('$6::text')}))
        order by ${orderKey} ${direction}, ${address} ${direction} limit $7::integer) page`,
  }
}

const countStatement: Read = {
  name: 'vault_count',
  from: 'all vaults',
  text: `select list.strategy as list, counted.count from unnest($1::text[]) as list(strategy) cross join lateral (
      select count(*)::integer as count from vault where ${matches}) counted`,
}

/**
 * A page of each of several lists of vaults.
 * @param lists the strategy that each list is of, or `allStrategies`
 * @returns their rows, each list's in order, one more than asked for where there is one
 */
export function readVaultPages(database: Reader, lists: readonly string[], page: VaultPage): Promise<PagedVaultRow[]> {
  const { filter, after, first } = page
  return database.query(pageStatement(page), [
    lists,
    filter.status,
    filter.strategy,
    filter.owner,
    after?.value ?? null,
    after?.address ?? null,
    first + 1,
  ])
}

export function countVaults(
  database: Reader,
  lists: readonly string[],
  filter: VaultFilter,
): Promise<{ list: string; count: number }[]> {
  return database.query(countStatement, [lists, filter.status, filter.strategy, filter.owner])
}
