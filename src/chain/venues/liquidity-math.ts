import { sqrtPriceAtTick } from './tick-math.ts'

const q96 = 96n
const uint128 = (1n << 128n) - 1n
const uint256 = (1n << 256n) - 1n

/** Amounts of token0 and token1, in their smallest units. */
export type Amounts = readonly [bigint, bigint]

/** Current price of a pool. */
export interface PoolPrice {
  readonly sqrtPriceX96: bigint
  /**
   * Current tick, which may be one less than the tick of the price after a tick was crossed downwards.
   * @see Uniswap v3 Core, UniswapV3Pool.sol, `swap`
   */
  readonly tick: number
}

/** Lower and upper tick of a position. */
export interface TickRange {
  readonly lower: number
  readonly upper: number
}

/**
 * Computes the token amounts of liquidity. The pool rounds down payments for removed liquidity, and rounds up charges
 * for added liquidity.
 * @see Uniswap v3 Core whitepaper, section 6.4.1, formulas 6.29 and 6.30; SqrtPriceMath.sol
 */
export function amountsOf(
  liquidity: bigint,
  range: TickRange,
  { sqrtPriceX96, tick }: PoolPrice,
  rounding: 'down' | 'up' = 'down',
): Amounts {
  const divide = rounding === 'down' ? dividedDown : dividedUp
  const amount0 = (lower: bigint, upper: bigint): bigint =>
    divide(divide((liquidity << q96) * (upper - lower), upper), lower)
  const amount1 = (lower: bigint, upper: bigint): bigint => divide(liquidity * (upper - lower), 1n << q96)
  const lower = sqrtPriceAtTick(range.lower)
  const upper = sqrtPriceAtTick(range.upper)
  if (tick < range.lower) return [amount0(lower, upper), 0n]
  if (tick >= range.upper) return [0n, amount1(lower, upper)]
  return [amount0(sqrtPriceX96, upper), amount1(lower, sqrtPriceX96)]
}

/** Fee growth on the side of a tick where the price is not, times 2^128. */
export type GrowthOutside = Amounts

/**
 * Computes the fee growth inside a range, times 2^128. Only differences are meaningful, modulo 2^256.
 * @see Uniswap v3 Core whitepaper, section 6.3, formulas 6.17 to 6.19; Tick.sol `getFeeGrowthInside`
 */
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

/**
 * Computes the fees that liquidity has earned between two values of the growth inside its range.
 * @see Uniswap v3 Core whitepaper, section 6.4.1, formula 6.28; Position.sol `update`
 */
export function feesOf(liquidity: bigint, from: Amounts, to: Amounts): Amounts {
  const fees = (token: 0 | 1): bigint => ((((to[token] - from[token]) & uint256) * liquidity) >> 128n) & uint128
  return [fees(0), fees(1)]
}

function dividedDown(amount: bigint, by: bigint): bigint {
  return amount / by
}

function dividedUp(amount: bigint, by: bigint): bigint {
  return amount / by + (amount % by === 0n ? 0n : 1n)
}
