import { emptyBenchmark } from '../../../domain/attribution.ts'
import { Decimal } from '../../../domain/decimal.ts'
import type { VaultFees } from '../../../domain/fees.ts'
import { usdText } from '../../../domain/flows.ts'
import type { Address } from '../../../domain/address.ts'
import { netUsd, statusOf, strategyDeltaUsd, type VaultState } from '../../../domain/vault.ts'
import { bytesOrNull } from '../sets.ts'
import {
  type RecordedHistory,
  recordedHistoryColumns,
  recordedHistoryRow,
  toRecordedHistory,
} from './recorded-history.ts'

/** A vault as the projector uses it: its columns as domain values. */
export interface VaultRecord {
  /** Id in the database. */
  readonly id: number
  readonly address: Address
  readonly owner: string
  readonly chainId: number | null
  readonly strategyId: string
  readonly openedAt: number
  readonly digest: string
  readonly state: VaultState
  readonly fees: VaultFees
  /** Time of the newest equity point, in Unix seconds. */
  readonly equityAt: number | null
  readonly pointCount: number
  /** The greatest block in its ledger. */
  readonly ledgerBlock: number | null
  /** Whether its ledger rows arrived in ascending order of blocks. */
  readonly ledgerInOrder: boolean
  /** Time of the newest fact, in Unix seconds. */
  readonly updatedAt: number
  /** Whether its owner was large when receiving it. */
  readonly ownerIsLarge: boolean
  readonly history: RecordedHistory
}

/** The columns of a vault, with their SQL types. */
export const vaultColumnTypes = {
  id: 'integer',
  address: 'text',
  owner: 'text',
  chain_id: 'bigint',
  strategy_id: 'text',
  opened_at: 'bigint',
  digest: 'bytea',
  status: 'vault_status',
  phase: 'vault_phase',
  value_usd: 'numeric',
  capital_in_usd: 'numeric',
  capital_out_usd: 'numeric',
  net_usd: 'numeric',
  strategy_delta_usd: 'numeric',
  market_delta_usd: 'numeric',
  benchmark_paid_out_usd: 'numeric',
  position_count: 'integer',
  out_of_range_count: 'integer',
  fees_contributed_usd: 'numeric',
  fees_withdrawn_usd: 'numeric',
  fees_taxed_usd: 'numeric',
  fees_high_water_usd: 'numeric',
  fees_told: 'boolean',
  high_water_told: 'boolean',
  suspension_reason: 'text',
  suspended_at: 'bigint',
  equity_at: 'bigint',
  point_count: 'integer',
  ledger_block: 'bigint',
  ledger_in_order: 'boolean',
  updated_at: 'bigint',
  owner_is_large: 'boolean',
  ...recordedHistoryColumns,
} as const

/** A row of these columns. */
export type StoredVault = ReturnType<typeof toVaultColumns>

/** The newest day of a vault, as it is stored. */
export interface StoredDay {
  readonly vault: string
  readonly day: number
  readonly start_usd: string
  readonly growth: string
}

type Holdings = VaultState['benchmark']['holdings']

/** Converts the row of a vault, with the holdings of its benchmark and its newest day. */
export function toRecord(row: StoredVault, holdings: Holdings, day: StoredDay | undefined): VaultRecord {
  return {
    id: row.id,
    address: row.address,
    owner: row.owner,
    chainId: row.chain_id,
    strategyId: row.strategy_id,
    openedAt: row.opened_at,
    digest: row.digest,
    state: toState(row, holdings, day),
    fees: {
      contributedUsd: new Decimal(row.fees_contributed_usd),
      withdrawnUsd: new Decimal(row.fees_withdrawn_usd),
      taxedUsd: new Decimal(row.fees_taxed_usd),
      highWaterUsd: new Decimal(row.fees_high_water_usd),
      isStated: row.fees_told,
      isHighWaterStated: row.high_water_told,
    },
    equityAt: row.equity_at,
    pointCount: row.point_count,
    ledgerBlock: row.ledger_block,
    ledgerInOrder: row.ledger_in_order,
    updatedAt: row.updated_at,
    ownerIsLarge: row.owner_is_large,
    history: toRecordedHistory(row),
  }
}

function toState(row: StoredVault, holdings: Holdings, day: StoredDay | undefined): VaultState {
  return {
    valueUsd: new Decimal(row.value_usd),
    capitalInUsd: new Decimal(row.capital_in_usd),
    capitalOutUsd: new Decimal(row.capital_out_usd),
    marketDeltaUsd: new Decimal(row.market_delta_usd),
    benchmark: { ...emptyBenchmark, holdings, paidOutUsd: new Decimal(row.benchmark_paid_out_usd) },
    day: day ? { day: day.day, startUsd: new Decimal(day.start_usd), growth: new Decimal(day.growth) } : null,
    phase: row.phase,
    suspension:
      row.suspension_reason === null || row.suspended_at === null
        ? null
        : { reason: row.suspension_reason, sinceSeconds: row.suspended_at },
    positions: { open: row.position_count, outOfRange: row.out_of_range_count },
  }
}

/** Converts a vault to a row. */
export function toVaultColumns({ state, fees, ...vault }: VaultRecord) {
  return {
    id: vault.id,
    address: vault.address,
    owner: vault.owner,
    chain_id: vault.chainId,
    strategy_id: vault.strategyId,
    opened_at: vault.openedAt,
    digest: bytesOrNull(vault.digest),
    status: statusOf(state),
    phase: state.phase,
    value_usd: usdText(state.valueUsd),
    capital_in_usd: usdText(state.capitalInUsd),
    capital_out_usd: usdText(state.capitalOutUsd),
    net_usd: usdText(netUsd(state)),
    strategy_delta_usd: usdText(strategyDeltaUsd(state)),
    market_delta_usd: usdText(state.marketDeltaUsd),
    benchmark_paid_out_usd: state.benchmark.paidOutUsd.toFixed(),
    position_count: state.positions.open,
    out_of_range_count: state.positions.outOfRange,
    fees_contributed_usd: usdText(fees.contributedUsd),
    fees_withdrawn_usd: usdText(fees.withdrawnUsd),
    fees_taxed_usd: usdText(fees.taxedUsd),
    fees_high_water_usd: usdText(fees.highWaterUsd),
    fees_told: fees.isStated,
    high_water_told: fees.isHighWaterStated,
    suspension_reason: state.suspension?.reason ?? null,
    suspended_at: state.suspension?.sinceSeconds ?? null,
    equity_at: vault.equityAt,
    point_count: vault.pointCount,
    ledger_block: vault.ledgerBlock,
    ledger_in_order: vault.ledgerInOrder,
    updated_at: vault.updatedAt,
    owner_is_large: vault.ownerIsLarge,
    ...recordedHistoryRow(vault.history),
  }
}
