import type { Decimal } from './decimal.ts'

/** Bounds and where the market stands between them, in prices (of b for one a) or ticks. */
export interface Range<Value> {
  readonly lower: Value
  readonly upper: Value
  readonly current: Value
}

/**
 * lower <= current < upper, on the ticks where they are known: a pool's price can stand exactly on its lower bound
 * and be out.
 */
export function isInRange(prices: Range<Decimal>, ticks: Range<number> | null): boolean {
  if (ticks !== null) return ticks.lower <= ticks.current && ticks.current < ticks.upper
  return prices.lower.lessThanOrEqualTo(prices.current) && prices.current.lessThan(prices.upper)
}
