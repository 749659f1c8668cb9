import { type Decimal, divideFine, fineScale, roundUsd, usdScale, zero } from './decimal.ts'
import { PriceMissing } from './errors.ts'

/** Price of one unit of an asset in USD, by symbol. */
export type Prices = ReadonlyMap<string, Decimal>

/** The buy-and-hold benchmark: the assets of the vault's own deposits, held without any strategy. */
export interface Benchmark {
  /** Quantity of each deposited asset, by symbol; 0 once all of it was withdrawn. */
  readonly holdings: ReadonlyMap<string, Decimal>
  /** Total value that withdrawals have taken out of the benchmark. */
  readonly paidOutUsd: Decimal
}

export interface AssetAmount {
  readonly symbol: string
  readonly amount: Decimal
}

export const emptyBenchmark: Benchmark = { holdings: new Map(), paidOutUsd: zero }

/**
 * Computes the market's part of netUsd: benchmark value + benchmark paid out - capitalIn.
 * @returns USD, rounded once to 6 decimals
 * @throws {PriceMissing} when a deposited asset has no price
 */
export function marketDeltaUsd(benchmark: Benchmark, capitalInUsd: Decimal, prices: Prices): Decimal {
  const deltaUsd = benchmarkValueUsd(benchmark, prices).plus(benchmark.paidOutUsd).minus(capitalInUsd)
  return isExact(benchmark) ? roundUsd(deltaUsd) : roundUsdOfQuotients(deltaUsd)
}

/**
 * Adds the asset quantities of a deposit to the benchmark.
 * @param assets quantities in whole units of each asset
 * @returns a new benchmark
 */
export function depositToBenchmark(benchmark: Benchmark, assets: readonly AssetAmount[]): Benchmark {
  const holdings = new Map(benchmark.holdings)
  for (const { symbol, amount } of assets) {
    const quantity = (holdings.get(symbol) ?? zero).plus(amount)
    if (!quantity.isZero()) holdings.set(symbol, quantity)
  }
  return { ...benchmark, holdings }
}

/**
 * Withdraws the fraction amountUsd / valueBeforeUsd of every quantity, and adds that fraction of the benchmark's value
 * to the amount paid out.
 * @param valueBeforeUsd value of the vault before the withdrawal
 * @param prices at the time of the withdrawal
 * @returns a new benchmark, with quantities and the amount paid out rounded to 40 decimals
 * @throws {PriceMissing} when a deposited asset has no price
 */
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
    holdings.set(symbol, divideFine(quantity.times(remainingUsd), valueBeforeUsd))
  }
  const paidUsd = divideFine(benchmarkValueUsd(benchmark, prices).times(amountUsd), valueBeforeUsd)
  return { holdings, paidOutUsd: benchmark.paidOutUsd.plus(paidUsd) }
}

/**
 * Values assets at prices.
 * @param assets pairs of symbol and quantity in whole units
 * @returns USD, not rounded
 * @throws {PriceMissing} when an asset has no price
 */
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

/** Whether no withdrawal has taken a fraction without a finite expansion, such as a third. */
function isExact({ holdings, paidOutUsd }: Benchmark): boolean {
  if (isRoundedQuotient(paidOutUsd)) return false
  for (const quantity of holdings.values()) if (isRoundedQuotient(quantity)) return false
  return true
}

/**
 * Whether `divideFine` has rounded a value. It would take such a quotient for an exact one only where its last four
 * decimals are 0; amounts of facts have far fewer decimals.
 */
function isRoundedQuotient(value: Decimal): boolean {
  return value.scale > fineScale - 4
}

/** Decimals within which a sum of rounded quotients has no error, at prices up to 10^9 USD. */
const quotientScale = 30

/**
 * Rounds a USD amount, half-even, that was computed from rounded quotients. One that differs from a tie only by their error
 * is a tie: two thirds of 3,000.00000075 are 2,000.0000005.
 */
function roundUsdOfQuotients(amountUsd: Decimal): Decimal {
  const likely = amountUsd.toDecimalPlaces(quotientScale)
  const isTie = likely.scale === usdScale + 1 && likely.units % 5n === 0n
  return roundUsd(isTie ? likely : amountUsd)
}
