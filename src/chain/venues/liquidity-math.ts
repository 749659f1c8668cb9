import { sqrtPriceAtTick } from './tick-math.ts'

/** What Uniswap v3's pool pays for liquidity and what it owes in fees, to the last unit. */

const q96 = 96n
const uint128 = (1n << 128n) - 1n
const uint256 = (1n << 256n) - 1n

/** Amounts of token0 and token1, in their smallest units. */
export type Amounts = readonly [bigint, bigint]

/** Where a pool's price stands. */
export interface PoolPrice {
  readonly sqrtPriceX96: bigint
  /** Not always that of the price: it stands below on a bound that was reached from above. */
  readonly tick: number
}

export interface TickRange {
  readonly lower: number
  readonly upper: number
}

/** What burning liquidity pays out, rounded down as the pool rounds it. */
export function amountsOf(liquidity: bigint, range: TickRange, { sqrtPriceX96, tick }: PoolPrice): Amounts {
  const lower = sqrtPriceAtTick(range.lower)
  const upper = sqrtPriceAtTick(range.upper)
  if (tick < range.lower) return [amount0(liquidity, lower, upper), 0n]
  if (tick >= range.upper) return [0n, amount1(liquidity, lower, upper)]
  return [amount0(liquidity, sqrtPriceX96, upper), amount1(liquidity, lower, sqrtPriceX96)]
}

/** Fees grown outside of a tick, on the side of it where the price isn't. */
export type GrowthOutside = Amounts

/** Fees that a unit of liquidity has earned inside of a range, times 2^128: differences count, modulo 2^256. */
export function growthInside(
  global: Amounts,
  lower: GrowthOutside,
  upper: GrowthOutside,
  range: TickRange,
  tick: number,
): Amounts {
  const inside = (token: 0 | 1): bigint => {
    const below = tick >= range.lower ? lower[token] : global[token] - lower[token]
    const above = tick < range.upper ? upper[token] : global[token] - upper[token]
    return (global[token] - below - above) & uint256
  }
  return [inside(0), inside(1)]
}

/** Fees that liquidity has earned while the growth inside of its range went from one to another. */
export function feesOf(liquidity: bigint, from: Amounts, to: Amounts): Amounts {
  const fees = (token: 0 | 1): bigint => ((((to[token] - from[token]) & uint256) * liquidity) >> 128n) & uint128
  return [fees(0), fees(1)]
}

function amount0(liquidity: bigint, lower: bigint, upper: bigint): bigint {
  return ((liquidity << q96) * (upper - lower)) / upper / lower
}

function amount1(liquidity: bigint, lower: bigint, upper: bigint): bigint {
  return (liquidity * (upper - lower)) >> q96
}
