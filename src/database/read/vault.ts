import type { VaultStatus } from '../../domain/vault.ts'
import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import { type Columns, rowCodec } from './row-codec.ts'
import type { PositionRow, VaultRow } from './rows.ts'

const vaultOf = (c: Columns): VaultRow => ({
  address: c.raw('vault.address'),
  owner: c.raw('vault.owner'),
  strategyId: c.text('vault.strategy_id'),
  status: c.raw('vault.status') as VaultStatus,
  valueUsd: c.raw('vault.value_usd'),
  capitalInUsd: c.raw('vault.capital_in_usd'),
  capitalOutUsd: c.raw('vault.capital_out_usd'),
  netUsd: c.raw('vault.net_usd'),
  strategyDeltaUsd: c.raw('vault.strategy_delta_usd'),
  marketDeltaUsd: c.raw('vault.market_delta_usd'),
  feesContributedUsd: c.raw('vault.fees_contributed_usd'),
  feesWithdrawnUsd: c.raw('vault.fees_withdrawn_usd'),
  feesTaxedUsd: c.raw('vault.fees_taxed_usd'),
  feesHighWaterUsd: c.raw('vault.fees_high_water_usd'),
  suspensionReason: c.textOrNull('vault.suspension_reason'),
  suspendedAt: c.numberOrNull('vault.suspended_at'),
  updatedAt: c.number('vault.updated_at'),
})

const vaultCodec = rowCodec(vaultOf)

const vaultsByAddress: Read = {
  name: 'vaults_by_address',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'address' },
  text: `${vaultCodec.select} from vault where address = any($1::text[])`,
  decode: vaultCodec.decode,
}

const positionCodec = rowCodec<PositionRow>(
  (c) => ({
    vaultAddress: c.raw('vault_address'),
    id: c.text('id'),
    a: c.text('a'),
    b: c.text('b'),
    venue: c.text('venue'),
    feeTier: c.number('fee_tier'),
    priceLower: c.raw('price_lower'),
    priceUpper: c.raw('price_upper'),
    priceCurrent: c.raw('price_current'),
    tickLower: c.numberOrNull('tick_lower'),
    tickUpper: c.numberOrNull('tick_upper'),
    tickCurrent: c.numberOrNull('tick_current'),
    inRange: c.boolean('in_range'),
    pendingRewardsUsd: c.raw('pending_rewards_usd'),
  }),
  'ordinal',
)

const positionsByVault: Read = {
  name: 'positions_by_vault',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'vaultAddress' },
  text: `${positionCodec.select} from position where vault_address = any($1::text[])`,
  decode: positionCodec.decode,
}

/** Reads vaults by address, in undefined order; unknown addresses are omitted. */
export function readVaults(database: Reader, addresses: readonly string[]): Promise<VaultRow[]> {
  return database.query(vaultsByAddress, [addresses])
}

/** Reads the open positions of vaults, in the order of the newest mark for each vault. */
export function readPositions(database: Reader, addresses: readonly string[]): Promise<PositionRow[]> {
  return database.query(positionsByVault, [addresses])
}

/**
 * SQL expression by which addresses are ordered: case-insensitive, and independent of the database's collation. The
 * indexes contain the same expression.
 */
const digitsOf = (address: string): string => `(lower(${address}) collate "C")`

interface OrderKey {
  readonly column: string
  /** Returns the SQL expression to compare for a value of the column. */
  readonly key: (value: string) => string
  readonly type: string
}

const itself = (value: string): string => value

/** Sort orders of vault lists; the address is the tie-breaker. */
export const vaultOrders = {
  VALUE_USD: { column: 'value_usd', key: itself, type: 'numeric' },
  NET_USD: { column: 'net_usd', key: itself, type: 'numeric' },
  UPDATED_AT: { column: 'updated_at', key: itself, type: 'bigint' },
  ADDRESS: { column: 'address', key: digitsOf, type: 'text' },
} as const satisfies Record<string, OrderKey>
export type VaultOrder = keyof typeof vaultOrders
export type Direction = 'ASC' | 'DESC'

/** Restricts lists of vaults; null matches all. */
export interface VaultFilter {
  readonly status: readonly VaultStatus[] | null
  readonly strategy: readonly string[] | null
  readonly owner: readonly string[] | null
}

/** Position before a page: the vault with this address, whose sort column had this value. */
export interface VaultCursor {
  readonly value: string
  readonly address: string
}

/** A page of a list of vaults. */
export interface VaultPage {
  readonly filter: VaultFilter
  readonly orderBy: VaultOrder
  readonly direction: Direction
  readonly first: number
  readonly after: VaultCursor | null
}

/** Name of the list of all vaults, among the lists of one strategy each: no strategy has an empty id. */
export const allStrategies = ''

/** A vault in a page, with its list and the value for its cursor. */
export interface PagedVaultRow extends VaultRow {
  /** The strategy of the list, or `allStrategies`. */
  readonly list: string
  readonly orderValue: string
}

const matches = `(list.strategy = '${allStrategies}' or vault.strategy_id = list.strategy)
  and ($2::text[] is null or vault.status = any($2::text[]::vault_status[]))
  and ($3::text[] is null or vault.strategy_id = any($3::text[]))
  and ($4::text[] is null or vault.owner = any($4::text[]))`

/** Maximum number of lists in one statement: each may have a page of many vaults. */
const maxLists = 8

function pageStatement(orderBy: VaultOrder, direction: Direction): Read {
  const { column, key, type } = vaultOrders[orderBy]
  const beyond = direction === 'ASC' ? '>' : '<'
  const [orderKey, address] = [key(`vault.${column}`), digitsOf('vault.address')]
  const { select, decode } = rowCodec<PagedVaultRow>((c) =>
    // Object spread would create objects in dictionary mode, which are slow to read.
    Object.assign(vaultOf(c), { list: c.text('list.strategy'), orderValue: c.raw(`vault.${column}`) }),
  )
  return {
    name: `vault_page_${orderBy}_${direction}`,
    source: 'all vaults',
    batching: { kind: 'keyed', keyColumn: 'list', maxKeys: maxLists },
    text: `${select} from unnest($1::text[]) as list(strategy) cross join lateral (
        select vault.* from vault
        where ${matches}
          and ($5::text is null or (${orderKey}, ${address}) ${beyond} (${key(`$5::text::${type}`)}, ${digitsOf('$6::text')}))
        order by ${orderKey} ${direction}, ${address} ${direction} limit $7::integer) vault`,
    decode,
  }
}

const orders = Object.keys(vaultOrders) as VaultOrder[]
const pages = {
  ASC: new Map(orders.map((order) => [order, pageStatement(order, 'ASC')])),
  DESC: new Map(orders.map((order) => [order, pageStatement(order, 'DESC')])),
}

const countStatement: Read = {
  name: 'vault_count',
  source: 'all vaults',
  batching: { kind: 'none' },
  isUnbounded: true,
  text: `select list.strategy as list, counted.count, ${dataVersion} from unnest($1::text[]) as list(strategy) cross join lateral (
      select count(*)::integer as count from vault where ${matches}) counted`,
}

/**
 * Reads a page of each of several lists of vaults.
 * @param lists the strategy of each list, or `allStrategies`
 * @returns the rows in order for each list, and one more where there is one, which tells whether there is a next page
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

/** Counts the vaults of each list that match a filter. */
export function countVaults(
  database: Reader,
  lists: readonly string[],
  filter: VaultFilter,
): Promise<{ list: string; count: number }[]> {
  return database.query(countStatement, [lists, filter.status, filter.strategy, filter.owner])
}
