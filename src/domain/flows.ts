import {
  type AssetAmount,
  assetsValueUsd,
  depositToBenchmark,
  marketDeltaUsd,
  type Prices,
  withdrawFromBenchmark,
} from './attribution.ts'
import { type Decimal, roundUsd, usdScale } from './decimal.ts'
import { AmountMismatch, WithdrawalOverValue } from './errors.ts'
import { dayAt, applyGrowth } from './returns.ts'
import { endExitWhenEmpty, type VaultState } from './vault.ts'

/** A valuation of the vault: total value and asset prices at one time. */
export interface Valuation {
  readonly tsSeconds: number
  readonly valueUsd: Decimal
  readonly prices: Prices
}

/**
 * Applies a valuation: the difference to the last known value counts as earned or lost.
 * @returns a new vault state
 * @throws {PriceMissing} when a deposited asset has no price
 */
export function revalue(vault: VaultState, valuation: Valuation): VaultState {
  const { tsSeconds, valueUsd, prices } = valuation
  const day = dayAt(vault.day, tsSeconds, vault.valueUsd)
  const { capitalInUsd, capitalOutUsd, benchmark, phase, suspension, positions } = vault
  return {
    valueUsd,
    capitalInUsd,
    capitalOutUsd,
    marketDeltaUsd: marketDeltaUsd(benchmark, capitalInUsd, prices),
    benchmark,
    day: applyGrowth(day, vault.valueUsd, valueUsd),
    phase,
    suspension,
    positions,
  }
}

/**
 * Applies the valuation before a deposit, then adds the deposit to value and capitalIn, and its assets to the
 * benchmark.
 * @param before valuation immediately before the deposit
 * @param assets quantities in whole units
 * @returns a new vault state
 * @throws {AmountMismatch} when the amount is not the value of the assets at their prices, to 6 decimals
 * @throws {PriceMissing} when a deposited asset has no price
 */
export function deposit(
  vault: VaultState,
  before: Valuation,
  amountUsd: Decimal,
  assets: readonly AssetAmount[],
): VaultState {
  const assetsUsd = roundUsd(
    assetsValueUsd(
      assets.map(({ symbol, amount }) => [symbol, amount]),
      before.prices,
    ),
  )
  if (!assetsUsd.equals(amountUsd)) throw new AmountMismatch(amountUsd.toFixed(), assetsUsd.toFixed())
  const valued = revalue(vault, before)
  const benchmark = depositToBenchmark(valued.benchmark, assets)
  const capitalInUsd = valued.capitalInUsd.plus(amountUsd)
  return {
    ...valued,
    valueUsd: valued.valueUsd.plus(amountUsd),
    capitalInUsd,
    benchmark,
    marketDeltaUsd: marketDeltaUsd(benchmark, capitalInUsd, before.prices),
    phase: valued.phase === 'exiting' ? null : valued.phase,
  }
}

/**
 * Applies the valuation before a withdrawal, then subtracts the withdrawal from value, adds it to capitalOut, and
 * withdraws the same fraction of the benchmark.
 * @param before valuation immediately before the withdrawal
 * @returns a new vault state
 * @throws {WithdrawalOverValue} when the amount exceeds the vault's value
 * @throws {PriceMissing} when a deposited asset has no price
 */
export function withdraw(vault: VaultState, before: Valuation, amountUsd: Decimal): VaultState {
  if (amountUsd.greaterThan(before.valueUsd)) {
    throw new WithdrawalOverValue(amountUsd.toFixed(), before.valueUsd.toFixed())
  }
  const valued = revalue(vault, before)
  const benchmark = withdrawFromBenchmark(valued.benchmark, amountUsd, before.valueUsd, before.prices)
  return endExitWhenEmpty({
    ...valued,
    valueUsd: valued.valueUsd.minus(amountUsd),
    capitalOutUsd: valued.capitalOutUsd.plus(amountUsd),
    benchmark,
    marketDeltaUsd: marketDeltaUsd(benchmark, valued.capitalInUsd, before.prices),
  })
}

/** Formats a USD amount as it is stored: fixed-point, 6 decimals. */
export function usdText(amount: Decimal): string {
  return amount.toFixed(usdScale)
}
