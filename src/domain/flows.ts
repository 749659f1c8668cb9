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
import { enterDay, grow } from './returns.ts'
import { endExitWhenEmpty, type VaultState } from './vault.ts'

/** What the vault was found to be worth, at which prices, when. */
export interface Valuation {
  readonly tsSeconds: number
  readonly valueUsd: Decimal
  readonly prices: Prices
}

/**
 * Values the vault: the difference to the value carried is earned or lost.
 * @throws {PriceMissing} for an asset of the deposits without a price
 */
export function revalue(vault: VaultState, valuation: Valuation): VaultState {
  const { tsSeconds, valueUsd, prices } = valuation
  const day = enterDay(vault.day, tsSeconds, vault.valueUsd)
  return {
    ...vault,
    valueUsd,
    day: grow(day, vault.valueUsd, valueUsd),
    marketDeltaUsd: marketDeltaUsd(vault.benchmark, vault.capitalInUsd, prices),
  }
}

/**
 * Revalues the vault, then adds a deposit to value and capitalIn, and its assets to the benchmark.
 * @throws {AmountMismatch} where the amount isn't the sum of the assets at their prices, to the micro-dollar
 */
export function deposit(
  vault: VaultState,
  before: Valuation,
  amountUsd: Decimal,
  assets: readonly AssetAmount[],
): VaultState {
  const worthUsd = roundUsd(
    assetsValueUsd(
      assets.map(({ symbol, amount }) => [symbol, amount]),
      before.prices,
    ),
  )
  if (!worthUsd.equals(amountUsd)) throw new AmountMismatch(amountUsd.toFixed(), worthUsd.toFixed())
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
 * Revalues the vault, then takes a withdrawal from value, adds it to capitalOut, and takes its fraction of the benchmark.
 * @throws {WithdrawalOverValue} where it is more than the vault holds
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

/** The text of a USD amount as it is stored. */
export function usdText(amount: Decimal): string {
  return amount.toFixed(usdScale)
}
