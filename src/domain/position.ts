import type { Decimal } from './decimal.ts'

/**
 * Bounds of a concentrated-liquidity position and the market's current value, as prices (of asset b in one a) or as
 * ticks.
 */
export interface Range<Value> {
  readonly lower: Value
  readonly upper: Value
  readonly current: Value
}

/**
 * Returns whether a position is in range: lower <= current < upper. Ticks take precedence if known, because a pool's
 * price can equal the lower bound while its tick is below it.
 * @param prices bounds and current price
 * @param ticks bounds and current tick; null if the venue has no ticks
 * @see Uniswap v3 Core whitepaper, section 6.4.1; UniswapV3Pool.sol `_modifyPosition`
 */
export function isInRange(prices: Range<Decimal>, ticks: Range<number> | null): boolean {
  if (ticks !== null) return ticks.lower <= ticks.current && ticks.current < ticks.upper
  return prices.lower.lessThanOrEqualTo(prices.current) && prices.current.lessThan(prices.upper)
}
