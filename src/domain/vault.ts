import { emptyBenchmark, type Benchmark } from './attribution.ts'
import { type Decimal, fineDigits, usdDigits, zero } from './decimal.ts'
import { FigureTooLarge } from './errors.ts'
import type { VaultDay } from './returns.ts'

/** Statuses of a vault, as responses name them. */
export const vaultStatuses = ['idle', 'planting', 'earning', 'attention', 'exiting', 'suspended'] as const
export type VaultStatus = (typeof vaultStatuses)[number]

/** Temporary phase that an event starts and later facts end. */
export type VaultPhase = 'planting' | 'exiting'

export interface Suspension {
  readonly reason: string
  readonly sinceSeconds: number
}

/** Number of positions in the newest mark, and how many of them are out of range. */
export interface PositionCounts {
  readonly open: number
  readonly outOfRange: number
}

/** State of a vault between two facts: the input of the rules of flows, marks and phases. Fees are separate. */
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

/** State of a vault that was opened, before any other fact. */
export const newVault: VaultState = {
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

/** Derives a vault's status: the first that applies, in the precedence of the interface. */
export function statusOf(vault: StatusFacts): VaultStatus {
  if (vault.suspension !== null) return 'suspended'
  if (vault.phase !== null) return vault.phase
  if (isEmpty(vault)) return 'idle'
  if (vault.positions.open === 0) return 'planting'
  return vault.positions.outOfRange > 0 ? 'attention' : 'earning'
}

/** Starts planting, which ends when a mark shows a position. */
export function plant(vault: VaultState): VaultState {
  return { ...vault, phase: 'planting' }
}

/** Starts exiting, which ends when the vault is empty, or a deposit or plant event follows. */
export function exit(vault: VaultState): VaultState {
  return endExitWhenEmpty({ ...vault, phase: 'exiting' })
}

/** Suspends the vault until a resume event. */
export function suspend(vault: VaultState, reason: string, sinceSeconds: number): VaultState {
  return { ...vault, suspension: { reason, sinceSeconds } }
}

/** Ends a suspension. */
export function resume(vault: VaultState): VaultState {
  return { ...vault, suspension: null }
}

/** Sets the positions of a mark: an open position ends planting, an empty vault ends exiting. */
export function setPositions(vault: VaultState, positions: PositionCounts): VaultState {
  const { valueUsd, capitalInUsd, capitalOutUsd, marketDeltaUsd, benchmark, day, suspension } = vault
  const phase = vault.phase === 'planting' && positions.open > 0 ? null : vault.phase
  const shown = { valueUsd, capitalInUsd, capitalOutUsd, marketDeltaUsd, benchmark, day, phase, suspension, positions }
  return endExitWhenEmpty(shown)
}

/** Ends exiting if the vault has neither value nor positions. */
export function endExitWhenEmpty(vault: VaultState): VaultState {
  return vault.phase === 'exiting' && isEmpty(vault) ? { ...vault, phase: null } : vault
}

/** Returns the vault's gain in USD: value + capitalOut - capitalIn. */
export function netUsd(vault: Pick<VaultState, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'>): Decimal {
  return vault.valueUsd.plus(vault.capitalOutUsd).minus(vault.capitalInUsd)
}

/** Returns the strategy's part of netUsd in USD: netUsd - marketDeltaUsd, so that both parts sum to it exactly. */
export function strategyDeltaUsd(vault: VaultState): Decimal {
  return netUsd(vault).minus(vault.marketDeltaUsd)
}

/** Key under which a fact states a valuation: in a mark, or in a flow. */
export type ValuationKey = 'valueUsd' | 'valueBeforeUsd'

/**
 * Returns the state that a mark or flow produces, after checking that all of its values fit the database. The schema
 * bounds each value of one fact; sums and products over several facts are bounded only here.
 * @param valuationKey key of the fact's valuation, named in the error
 * @throws {FigureTooLarge} when a value has too many digits; names the value and the key that caused it
 */
export function requireStorable(vault: VaultState, valuationKey: ValuationKey): VaultState {
  const { benchmark, day } = vault
  const check = (key: string, figure: string, amount: Decimal, digits: number): void => {
    if (amount.exceeds(digits)) throw new FigureTooLarge(key, figure, amount.toFixed(), digits)
  }
  check('amountUsd', 'valueUsd', vault.valueUsd, usdDigits)
  check('amountUsd', 'capitalInUsd', vault.capitalInUsd, usdDigits)
  check('amountUsd', 'capitalOutUsd', vault.capitalOutUsd, usdDigits)
  for (const [symbol, quantity] of benchmark.holdings) {
    check('assets', `the ${symbol} of all deposits`, quantity, fineDigits)
  }
  check('prices', 'what withdrawals have taken of the deposits', benchmark.paidOutUsd, fineDigits)
  if (day !== null) check(valuationKey, "the day's growth", day.growth, fineDigits)
  check('prices', 'marketDeltaUsd', vault.marketDeltaUsd, usdDigits)
  check(valuationKey, 'netUsd', netUsd(vault), usdDigits)
  check(valuationKey, 'strategyDeltaUsd', strategyDeltaUsd(vault), usdDigits)
  return vault
}

function isEmpty(vault: StatusFacts): boolean {
  return vault.valueUsd.isZero() && vault.positions.open === 0
}
