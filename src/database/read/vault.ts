import type { VaultStatus } from '../../domain/vault.ts'
import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import { type Columns, rowCodec } from './row-codec.ts'
import type { PositionRow, VaultRow } from './rows.ts'

const vaultOf = (c: Columns): VaultRow => ({
  address: c.plain('vault.address'),
  owner: c.plain('vault.owner'),
  strategyId: c.words('vault.strategy_id'),
  status: c.plain('vault.status') as VaultStatus,
  valueUsd: c.plain('vault.value_usd'),
  capitalInUsd: c.plain('vault.capital_in_usd'),
  capitalOutUsd: c.plain('vault.capital_out_usd'),
  netUsd: c.plain('vault.net_usd'),
  strategyDeltaUsd: c.plain('vault.strategy_delta_usd'),
  marketDeltaUsd: c.plain('vault.market_delta_usd'),
  feesContributedUsd: c.plain('vault.fees_contributed_usd'),
  feesWithdrawnUsd: c.plain('vault.fees_withdrawn_usd'),
  feesTaxedUsd: c.plain('vault.fees_taxed_usd'),
  feesHighWaterUsd: c.plain('vault.fees_high_water_usd'),
  suspensionReason: c.wordsOrNull('vault.suspension_reason'),
  suspendedAt: c.numberOrNull('vault.suspended_at'),
  updatedAt: c.number('vault.updated_at'),
})

const vaults = rowCodec(vaultOf)

const vaultsByAddress: Read = {
  name: 'vaults_by_address',
  from: 'named vaults',
  sharedBy: 'address',
  text: `${vaults.select} from vault where address = any($1::text[])`,
  unpack: vaults.unpack,
}

const positions = rowCodec<PositionRow>(
  (c) => ({
    vaultAddress: c.plain('vault_address'),
    id: c.words('id'),
    a: c.words('a'),
    b: c.words('b'),
    venue: c.words('venue'),
    feeTier: c.number('fee_tier'),
    priceLower: c.plain('price_lower'),
    priceUpper: c.plain('price_upper'),
    priceCurrent: c.plain('price_current'),
    tickLower: c.numberOrNull('tick_lower'),
    tickUpper: c.numberOrNull('tick_upper'),
    tickCurrent: c.numberOrNull('tick_current'),
    inRange: c.flag('in_range'),
    pendingRewardsUsd: c.plain('pending_rewards_usd'),
  }),
  'ordinal',
)

const positionsByVault: Read = {
  name: 'positions_by_vault',
  from: 'named vaults',
  sharedBy: 'vaultAddress',
  text: `${positions.select} from position where vault_address = any($1::text[])`,
  unpack: positions.unpack,
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

/** So many lists are read at once: each may have a page of many vaults. */
const mostLists = 8

function pageStatement(orderBy: VaultOrder, direction: Direction): Read {
  const { column, key, type } = vaultOrders[orderBy]
  const beyond = direction === 'ASC' ? '>' : '<'
  const [orderKey, address] = [key(`vault.${column}`), digitsOf('vault.address')]
  const { select, unpack } = rowCodec<PagedVaultRow>((c) =>
    // What is spread into a new object with more is slow to read ever after.
    Object.assign(vaultOf(c), { list: c.words('list.strategy'), orderValue: c.plain(`vault.${column}`) }),
  )
  return {
    name: `vault_page_${orderBy}_${direction}`,
    from: 'all vaults',
    sharedBy: 'list',
    mostShared: mostLists,
    text: `${select} from unnest($1::text[]) as list(strategy) cross join lateral (
        select vault.* from vault
        where ${matches}
          and ($5::text is null or (${orderKey}, ${address}) ${beyond} (${key(`$5::text::${type}`)}, ${digitsOf('$6::text')}))
        order by ${orderKey} ${direction}, ${address} ${direction} limit $7::integer) vault`,
    unpack,
  }
}

const orders = Object.keys(vaultOrders) as VaultOrder[]
const pages = {
  ASC: new Map(orders.map((order) => [order, pageStatement(order, 'ASC')])),
  DESC: new Map(orders.map((order) => [order, pageStatement(order, 'DESC')])),
}

const countStatement: Read = {
  name: 'vault_count',
  from: 'all vaults',
  isUnbounded: true,
  text: `select list.strategy as list, counted.count, ${dataVersion} from unnest($1::text[]) as list(strategy) cross join lateral (
      select count(*)::integer as count from vault where ${matches}) counted`,
}

/**
 * A page of each of several lists of vaults.
 * @param lists the strategy that each list is of, or `allStrategies`
 * @returns their rows, each list's in order, one more than asked for where there is one
 */
export function readVaultPages(database: Reader, lists: readonly string[], page: VaultPage): Promise<PagedVaultRow[]> {
  const { filter, orderBy, direction, after, first } = page
  return database.query(pages[direction].get(orderBy) as Read, [
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
