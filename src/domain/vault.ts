import { emptyBenchmark, type Benchmark } from './attribution.ts'
import { type Decimal, zero } from './decimal.ts'
import type { VaultDay } from './returns.ts'

export const vaultStatuses = ['idle', 'planting', 'earning', 'attention', 'exiting', 'suspended'] as const
export type VaultStatus = (typeof vaultStatuses)[number]

/** What an event has begun and later facts have not ended yet. */
export type VaultPhase = 'planting' | 'exiting'

export interface Suspension {
  readonly reason: string
  readonly sinceSeconds: number
}

/** How many positions the newest mark shows, and how many of them are out of range. */
export interface PositionCounts {
  readonly open: number
  readonly outOfRange: number
}

/** A vault between two facts: all that the rules need to take the next one. */
export interface VaultState {
  readonly valueUsd: Decimal
  readonly capitalInUsd: Decimal
  readonly capitalOutUsd: Decimal
  readonly marketDeltaUsd: Decimal
  readonly benchmark: Benchmark
  readonly day: VaultDay | null
  readonly phase: VaultPhase | null
  readonly suspension: Suspension | null
  readonly positions: PositionCounts
}

export const openedVault: VaultState = {
  valueUsd: zero,
  capitalInUsd: zero,
  capitalOutUsd: zero,
  marketDeltaUsd: zero,
  benchmark: emptyBenchmark,
  day: null,
  phase: null,
  suspension: null,
  positions: { open: 0, outOfRange: 0 },
}

type StatusFacts = Pick<VaultState, 'valueUsd' | 'phase' | 'suspension' | 'positions'>

/** The first status that applies, in the order of the decisions. */
export function statusOf(vault: StatusFacts): VaultStatus {
  if (vault.suspension !== null) return 'suspended'
  if (vault.phase !== null) return vault.phase
  if (isEmpty(vault)) return 'idle'
  if (vault.positions.open === 0) return 'planting'
  return vault.positions.outOfRange > 0 ? 'attention' : 'earning'
}

/** The vault is planting until a mark shows a position. */
export function plant(vault: VaultState): VaultState {
  return { ...vault, phase: 'planting' }
}

/** The vault is exiting until it is empty, or a deposit or plant comes. */
export function exit(vault: VaultState): VaultState {
  return endExitWhenEmpty({ ...vault, phase: 'exiting' })
}

export function suspend(vault: VaultState, reason: string, sinceSeconds: number): VaultState {
  return { ...vault, suspension: { reason, sinceSeconds } }
}

export function resume(vault: VaultState): VaultState {
  return { ...vault, suspension: null }
}

/** The positions as a mark shows them: one ends planting, none in a vault without value ends exiting. */
export function showPositions(vault: VaultState, positions: PositionCounts): VaultState {
  const planted = vault.phase === 'planting' && positions.open > 0
  return endExitWhenEmpty({ ...vault, positions, phase: planted ? null : vault.phase })
}

export function endExitWhenEmpty(vault: VaultState): VaultState {
  return vault.phase === 'exiting' && isEmpty(vault) ? { ...vault, phase: null } : vault
}

export function netUsd(vault: Pick<VaultState, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'>): Decimal {
  return vault.valueUsd.plus(vault.capitalOutUsd).minus(vault.capitalInUsd)
}

/** The strategy's part of netUsd: what the market's leaves, so that the two sum to it exactly. */
export function strategyDeltaUsd(vault: VaultState): Decimal {
  return netUsd(vault).minus(vault.marketDeltaUsd)
}

function isEmpty(vault: StatusFacts): boolean {
  return vault.valueUsd.isZero() && vault.positions.open === 0
}
