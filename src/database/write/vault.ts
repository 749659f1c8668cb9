import { emptyBenchmark } from '../../domain/attribution.ts'
import { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import type { Address } from '../../domain/address.ts'
import { netUsd, statusOf, strategyDeltaUsd, type VaultState } from '../../domain/vault.ts'
import type { Transaction } from '../database.ts'
import { insertSet, updateSet } from './sets.ts'

/** A vault as facts have left it. */
export interface VaultRecord {
  readonly address: Address
  readonly owner: string
  readonly strategyId: string
  readonly openedAt: number
  readonly digest: string
  readonly state: VaultState
  readonly fees: FeeSummary
  /** Time of the newest equity point. */
  readonly equityAt: number | null
  readonly pointCount: number
  /** The greatest block of its ledger. */
  readonly ledgerBlock: number | null
  /** Whether no row of its ledger has a smaller block than one that came before it. */
  readonly ledgerInOrder: boolean
  /** Time of the newest fact. */
  readonly updatedAt: number
}

export interface FeeSummary {
  readonly contributedUsd: Decimal
  readonly withdrawnUsd: Decimal
  readonly taxedUsd: Decimal
  readonly highWaterUsd: Decimal
}

/** Reads vaults for change, and keeps other writers off them until the transaction ends. */
export async function lockVaults(transaction: Transaction, addresses: readonly string[]): Promise<VaultRecord[]> {
  const among = { in: [...addresses] }
  await transaction.$executeRawUnsafe(
    'select from vault where address = any($1::text[]) order by address for update',
    addresses,
  )
  const vaults = await transaction.vault.findMany({ where: { address: among }, include: { holdings: true } })
  const days = await transaction.$queryRawUnsafe<StoredDay[]>(newestDays, addresses)
  const dayOf = new Map(days.map((day) => [day.vault, day]))
  return vaults.map((vault) => toRecord(vault, dayOf.get(vault.address)))
}

type StoredVault = Awaited<ReturnType<Transaction['vault']['findMany']>>[number] & {
  holdings: { symbol: string; quantity: { toString(): string } }[]
}

interface StoredDay {
  vault: string
  day: number
  start_usd: string
  growth: string
}

const newestDays = `
  select wanted.address as vault, newest.day, newest.start_usd::text, newest.growth::text
  from unnest($1::text[]) as wanted(address) cross join lateral (
    select day, start_usd, growth from vault_day where vault_address = wanted.address order by day desc limit 1) newest`

function toRecord(stored: StoredVault, day: StoredDay | undefined): VaultRecord {
  return {
    address: stored.address as Address,
    owner: stored.owner,
    strategyId: stored.strategyId,
    openedAt: Number(stored.openedAt),
    digest: stored.digest,
    state: toState(stored, day),
    fees: {
      contributedUsd: exact(stored.feesContributedUsd),
      withdrawnUsd: exact(stored.feesWithdrawnUsd),
      taxedUsd: exact(stored.feesTaxedUsd),
      highWaterUsd: exact(stored.feesHighWaterUsd),
    },
    equityAt: stored.equityAt === null ? null : Number(stored.equityAt),
    pointCount: stored.pointCount,
    ledgerBlock: stored.ledgerBlock === null ? null : Number(stored.ledgerBlock),
    ledgerInOrder: stored.ledgerInOrder,
    updatedAt: Number(stored.updatedAt),
  }
}

function toState(stored: StoredVault, day: StoredDay | undefined): VaultState {
  return {
    valueUsd: exact(stored.valueUsd),
    capitalInUsd: exact(stored.capitalInUsd),
    capitalOutUsd: exact(stored.capitalOutUsd),
    marketDeltaUsd: exact(stored.marketDeltaUsd),
    benchmark: {
      ...emptyBenchmark,
      holdings: new Map(stored.holdings.map(({ symbol, quantity }) => [symbol, exact(quantity)])),
      paidOutUsd: exact(stored.benchmarkPaidOutUsd),
    },
    day:
      day === undefined
        ? null
        : { day: day.day, startUsd: new Decimal(day.start_usd), growth: new Decimal(day.growth) },
    phase: stored.phase,
    suspension:
      stored.suspensionReason === null
        ? null
        : { reason: stored.suspensionReason, sinceSeconds: Number(stored.suspendedAt) },
    positions: { open: stored.positionCount, outOfRange: stored.outOfRangeCount },
  }
}

/** Prisma's decimals and the domain's are two clones of one library: the text carries all digits across. */
function exact(decimal: { toString(): string }): Decimal {
  return new Decimal(decimal.toString())
}

const vaultColumns = {
  address: 'text',
  owner: 'text',
  strategy_id: 'text',
  opened_at: 'bigint',
  digest: 'text',
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
  suspension_reason: 'text',
  suspended_at: 'bigint',
  equity_at: 'bigint',
  point_count: 'integer',
  ledger_block: 'bigint',
  ledger_in_order: 'boolean',
  updated_at: 'bigint',
} as const

const insertVaults = insertSet('vault', vaultColumns)
const updateVaults = updateSet('vault', vaultColumns, 'address')
const insertHoldings = insertSet('benchmark_holding', { vault_address: 'text', symbol: 'text', quantity: 'numeric' })

/** Writes vaults as facts have left them; one that is new fails where another writer has opened it meanwhile. */
export async function saveVaults(
  transaction: Transaction,
  opened: readonly VaultRecord[],
  changed: readonly VaultRecord[],
): Promise<void> {
  await insertVaults(transaction, opened.map(vaultRow))
  await updateVaults(transaction, changed.map(vaultRow))
}

/** Replaces what is held by the benchmarks of vaults that flows have come to or gone from. */
export async function replaceHoldings(transaction: Transaction, vaults: readonly VaultRecord[]): Promise<void> {
  if (vaults.length === 0) return
  const among = { in: vaults.map((vault) => vault.address) }
  await transaction.benchmarkHolding.deleteMany({ where: { vaultAddress: among } })
  await insertHoldings(transaction, vaults.flatMap(holdingRows))
}

function vaultRow({ state, fees, ...vault }: VaultRecord) {
  return {
    address: vault.address,
    owner: vault.owner,
    strategy_id: vault.strategyId,
    opened_at: vault.openedAt,
    digest: vault.digest,
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
    suspension_reason: state.suspension?.reason ?? null,
    suspended_at: state.suspension?.sinceSeconds ?? null,
    equity_at: vault.equityAt,
    point_count: vault.pointCount,
    ledger_block: vault.ledgerBlock,
    ledger_in_order: vault.ledgerInOrder,
    updated_at: vault.updatedAt,
  }
}

function holdingRows({ address, state }: VaultRecord) {
  return Array.from(state.benchmark.holdings, ([symbol, quantity]) => ({
    vault_address: address,
    symbol,
    quantity: quantity.toFixed(),
  }))
}
