import { Decimal } from '../../../domain/decimal.ts'
import { usdText } from '../../../domain/flows.ts'
import { isInRange } from '../../../domain/position.ts'
import type { VaultPhase, VaultStatus } from '../../../domain/vault.ts'
import type { Read, Reader } from '../../database.ts'
import { layoutRows } from '../../history/layout.ts'
import { decodePointState, decodePositions } from '../../history/point-state.ts'
import { dataVersion } from '../commit-log.ts'
import { type Columns, rowCodec } from '../row-codec.ts'
import type { PositionRow, VaultRow } from '../rows.ts'
import { vaultOf } from '../vault.ts'

/** What is stored of a vault at a moment: its newest rows of each kind at that time. */
interface StoredMoment {
  readonly address: string
  /** The vault as it is now. */
  readonly now: VaultRow
  /** From when on its state is kept, in Unix seconds; null before its first mark of which it is. */
  readonly since: number | null
  readonly openedAt: number
  readonly owner: string | null
  readonly ownerTs: number | null
  readonly rowTs: number | null
  readonly pointTs: number | null
  readonly valueUsd: string | null
  readonly capitalInUsd: string | null
  readonly capitalOutUsd: string | null
  readonly marketDeltaUsd: string | null
  readonly state: string | null
  readonly changeTs: number | null
  readonly phase: VaultPhase | null
  readonly suspensionReason: string | null
  readonly suspendedAt: number | null
  readonly taxedUsd: string | null
  readonly contributedUsd: string | null
  readonly withdrawnUsd: string | null
  readonly highWaterUsd: string | null
}

const momentCodec = rowCodec<StoredMoment>((c: Columns) => ({
  address: c.key(),
  now: vaultOf(c),
  since: c.numberOrNull('vault.history_since'),
  openedAt: c.number('vault.opened_at'),
  owner: c.rawOrNull('owned.owner'),
  ownerTs: c.numberOrNull('owned.ts'),
  rowTs: c.numberOrNull('ledger.ts'),
  pointTs: c.numberOrNull('point.ts'),
  valueUsd: c.rawOrNull('point.value_usd'),
  capitalInUsd: c.rawOrNull('point.capital_in_usd'),
  capitalOutUsd: c.rawOrNull('point.capital_out_usd'),
  marketDeltaUsd: c.rawOrNull('point.market_delta_usd'),
  state: c.rawOrNull(`encode(point.state, 'hex')`),
  changeTs: c.numberOrNull('change.ts'),
  phase: c.rawOrNull('change.phase') as VaultPhase | null,
  suspensionReason: c.textOrNull('change.suspension_reason'),
  suspendedAt: c.numberOrNull('change.suspended_at'),
  taxedUsd: c.rawOrNull('change.fees_taxed_usd'),
  contributedUsd: c.rawOrNull('change.fees_contributed_usd'),
  withdrawnUsd: c.rawOrNull('change.fees_withdrawn_usd'),
  highWaterUsd: c.rawOrNull('change.fees_high_water_usd'),
}))

/** Selects the newest row of a vault at or before the moment, by one scan of the index that its table has for time. */
const newest = (table: string, columns = '*'): string => `(
  select ${columns} from ${table} where vault_id = vault.id and ts <= $2::bigint order by ts desc limit 1)`

const vaultsAt: Read = {
  name: 'vaults_at',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'address' },
  text: `select list.vault as key, found.encoded, ${dataVersion} from unnest($1::text[]) as list(vault)
    cross join lateral (select ${momentCodec.aggregate} as encoded
      from (select * from vault where address = list.vault offset 0) vault
        left join lateral ${newest('vault_owner')} owned on true
        left join lateral ${newest('equity_point')} point on true
        left join lateral ${newest('vault_change')} change on true
        left join lateral ${newest('ledger_row', 'ts')} ledger on true
      where opened_at <= $2::bigint) found`,
  decode: momentCodec.decode,
}

/** Tells that the state of a vault is not kept for a time. */
export interface NotKept {
  /** From when on it is, in Unix seconds. */
  readonly historySince: number
}

/**
 * Reads the state of vaults at the end of a second, by address; those that did not exist then are left out.
 * @param at Unix seconds; a time after a vault's newest fact gives its newest state
 */
export async function readVaultsAt(
  database: Reader,
  addresses: readonly string[],
  at: number,
): Promise<Map<string, VaultRow | NotKept>> {
  const found = await database.query<StoredMoment>(vaultsAt, [addresses, at])
  return new Map(found.map((stored) => [stored.address, stateAt(stored, at)]))
}

function stateAt(stored: StoredMoment, at: number): VaultRow | NotKept {
  const { now, since } = stored
  if (at >= now.updatedAt) return { ...now, moment: { at, markedAt: null, isNewest: true } }
  if (since === null || at < since) return { historySince: since ?? now.updatedAt }
  const point = stored.state === null ? null : decodePointState(stored.state, stored.pointTs ?? 0)
  // A change of the second of a point is the state at the end of that second.
  const isPhaseOfChange = (stored.changeTs ?? -1) >= (stored.pointTs ?? -1)
  const phase = isPhaseOfChange ? stored.phase : (point?.phase ?? null)
  const isSuspended = stored.suspensionReason !== null
  const status: VaultStatus = isSuspended ? 'suspended' : (phase ?? point?.calmStatus ?? 'idle')
  const capitalInUsd = stored.capitalInUsd ?? none
  const capitalOutUsd = stored.capitalOutUsd ?? none
  const valueUsd = stored.valueUsd ?? none
  const marketDeltaUsd = stored.marketDeltaUsd ?? none
  const netUsd = new Decimal(valueUsd).plus(capitalOutUsd).minus(capitalInUsd)
  return {
    address: now.address,
    owner: stored.owner ?? now.owner,
    strategyId: now.strategyId,
    status,
    valueUsd,
    capitalInUsd,
    capitalOutUsd,
    netUsd: usdText(netUsd),
    strategyDeltaUsd: usdText(netUsd.minus(marketDeltaUsd)),
    marketDeltaUsd,
    feesContributedUsd: stored.contributedUsd ?? capitalInUsd,
    feesWithdrawnUsd: stored.withdrawnUsd ?? capitalOutUsd,
    feesTaxedUsd: stored.taxedUsd ?? none,
    feesHighWaterUsd: stored.highWaterUsd ?? usdText(point === null ? new Decimal(0) : netUsd.plus(point.aboveUsd)),
    suspensionReason: stored.suspensionReason,
    suspendedAt: stored.suspendedAt,
    updatedAt: Math.max(stored.openedAt, stored.ownerTs ?? 0, stored.rowTs ?? 0, stored.pointTs ?? 0),
    moment: { at, markedAt: point?.markedAt ?? null, isNewest: false },
  }
}

const none = '0.000000'

interface StoredPositions {
  readonly address: string
  readonly layout: string
  readonly state: string
}

const positionsCodec = rowCodec<StoredPositions>((c: Columns) => ({
  address: c.key(),
  layout: c.text('layout.positions'),
  state: c.raw(`encode(point.state, 'hex')`),
}))

const positionsAt: Read = {
  name: 'positions_at',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'address' },
  text: `select list.vault as key, found.encoded, ${dataVersion} from unnest($1::text[]) as list(vault)
    cross join lateral (select ${positionsCodec.aggregate} as encoded
      from (select id from vault where address = list.vault offset 0) vault
        cross join lateral (select state from equity_point where vault_id = vault.id and ts = $2::bigint) point
        cross join lateral ${newest('position_layout', 'positions')} layout) found`,
  decode: positionsCodec.decode,
}

/**
 * Reads the positions that marks have shown, in their order for each vault.
 * @param markedAt time of the marks, in Unix seconds
 * @param at moment that the rows are served for: part of their global ids
 */
export async function readPositionsAt(
  database: Reader,
  addresses: readonly string[],
  { markedAt, at }: { readonly markedAt: number; readonly at: number },
): Promise<PositionRow[]> {
  const found = await database.query<StoredPositions>(positionsAt, [addresses, markedAt])
  return found.flatMap((stored) => positionRows(stored, at))
}

function positionRows({ address, layout, state }: StoredPositions, at: number): PositionRow[] {
  const rows = layoutRows(layout)
  const changing = decodePositions(
    state,
    rows.map(([, , , , , , , tickLower]) => tickLower),
  )
  return rows.map(([id, a, b, venue, feeTier, priceLower, priceUpper, tickLower, tickUpper], index) => {
    const { priceCurrent = '0', tickCurrent = null, pendingRewardsUsd = none } = changing[index] ?? {}
    const prices = {
      lower: new Decimal(priceLower),
      upper: new Decimal(priceUpper),
      current: new Decimal(priceCurrent),
    }
    const ticks =
      tickLower === null || tickUpper === null || tickCurrent === null
        ? null
        : { lower: tickLower, upper: tickUpper, current: tickCurrent }
    return {
      vaultAddress: address,
      at,
      id,
      a,
      b,
      venue,
      feeTier,
      priceLower,
      priceUpper,
      priceCurrent,
      tickLower,
      tickUpper,
      tickCurrent,
      inRange: isInRange(prices, ticks),
      pendingRewardsUsd,
    }
  })
}

const historyStarts: Read = {
  name: 'history_since',
  source: 'named vaults',
  batching: { kind: 'keyed', keyColumn: 'vault' },
  text: `select address as vault, coalesce(history_since, updated_at)::float8 as "since", ${dataVersion}
    from vault where address = any($1::text[])`,
}

/** Reads from when on the state of vaults is kept, in Unix seconds. */
export function readHistoryStarts(
  database: Reader,
  addresses: readonly string[],
): Promise<{ vault: string; since: number }[]> {
  return database.query(historyStarts, [addresses])
}
