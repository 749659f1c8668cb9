import { type Decimal, roundFine, roundUsd, zero } from './decimal.ts'
import { PriceMissing } from './errors.ts'

/** USD for one unit of an asset, by symbol. */
export type Prices = ReadonlyMap<string, Decimal>

/** The vault's own deposits, simply held: what the market alone would have made of them. */
export interface Benchmark {
  /** Quantity of each asset that deposits have brought in, by symbol; 0 where all of it was withdrawn. */
  readonly holdings: ReadonlyMap<string, Decimal>
  /** What withdrawals have taken out. */
  readonly paidOutUsd: Decimal
}

export interface AssetAmount {
  readonly symbol: string
  readonly amount: Decimal
}

export const emptyBenchmark: Benchmark = { holdings: new Map(), paidOutUsd: zero }

/**
 * The market's part of netUsd: benchmark value + benchmark paid out - capitalIn, rounded once.
 * @throws {PriceMissing} for an asset of the deposits without a price
 */
export function marketDeltaUsd(benchmark: Benchmark, capitalInUsd: Decimal, prices: Prices): Decimal {
  return roundUsd(benchmarkValueUsd(benchmark, prices).plus(benchmark.paidOutUsd).minus(capitalInUsd))
}

/** Adds a deposit's quantities. */
export function depositToBenchmark(benchmark: Benchmark, assets: readonly AssetAmount[]): Benchmark {
  const holdings = new Map(benchmark.holdings)
  for (const { symbol, amount } of assets) {
    const quantity = (holdings.get(symbol) ?? zero).plus(amount)
    if (!quantity.isZero()) holdings.set(symbol, quantity)
  }
  return { ...benchmark, holdings }
}

/** Takes the fraction amount / valueBefore of every quantity, and pays out that fraction of the benchmark's value. */
export function withdrawFromBenchmark(
  benchmark: Benchmark,
  amountUsd: Decimal,
  valueBeforeUsd: Decimal,
  prices: Prices,
): Benchmark {
  if (amountUsd.isZero()) return benchmark
  const remainingUsd = valueBeforeUsd.minus(amountUsd)
  const holdings = new Map<string, Decimal>()
  for (const [symbol, quantity] of benchmark.holdings) {
    holdings.set(symbol, roundFine(quantity.times(remainingUsd).div(valueBeforeUsd)))
  }
  const paidUsd = roundFine(benchmarkValueUsd(benchmark, prices).times(amountUsd).div(valueBeforeUsd))
  return { holdings, paidOutUsd: benchmark.paidOutUsd.plus(paidUsd) }
}

/** The worth of assets at prices, not rounded. */
export function assetsValueUsd(assets: Iterable<readonly [symbol: string, amount: Decimal]>, prices: Prices): Decimal {
  let valueUsd = zero
  for (const [symbol, amount] of assets) {
    const price = prices.get(symbol)
    if (price === undefined) throw new PriceMissing(symbol)
    valueUsd = valueUsd.plus(amount.times(price))
  }
  return valueUsd
}

function benchmarkValueUsd(benchmark: Benchmark, prices: Prices): Decimal {
  return assetsValueUsd(benchmark.holdings, prices)
}
