import { type Address, encodePacked, keccak256, parseAbi } from 'viem'
import { Decimal } from '../../domain/decimal.ts'
import { ContractMismatch } from '../errors.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { amountsOf, type Amounts, feesOf, growthInside, type TickRange } from './liquidity-math.ts'
import { isRange, sqrtPriceAtTick } from './tick-math.ts'
import type { PoolProtocol, Position, StoredPosition } from './venue.ts'

/**
 * ABI of the pool functions that are read. All protocols share the first two words of `slot0`; Uniswap v3's sixth word
 * is wider in PancakeSwap v3, and absent in Slipstream.
 */
export const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function fee() view returns (uint24)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick)',
  'function feeGrowthGlobal0X128() view returns (uint256)',
  'function feeGrowthGlobal1X128() view returns (uint256)',
  'function ticks(int24 tick) view returns (uint128 liquidityGross, int128 liquidityNet, uint256 feeGrowthOutside0X128, uint256 feeGrowthOutside1X128)',
  'function positions(bytes32 key) view returns (uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
])

/** Slipstream's `ticks` returns the staked liquidity before the fee growth. */
const slipstreamAbi = parseAbi([
  'function ticks(int24 tick) view returns (uint128 liquidityGross, int128 liquidityNet, int128 stakedLiquidityNet, uint256 feeGrowthOutside0X128, uint256 feeGrowthOutside1X128)',
])

/** The account of one owner in one range, as a pool stores it. */
export type PoolAccount = Pick<StoredPosition, 'liquidity' | 'credited' | 'growthCounted'>

const nothing: Amounts = [0n, 0n]

/**
 * Reads the account of an owner in a range of a pool; null where the pool does not exist.
 * @throws {ContractMismatch} when the pool does not answer
 * @see Uniswap v3 Core, Position.sol `get`
 */
export async function findPoolAccount(
  state: BlockState,
  pool: Address,
  owner: Address,
  { lower, upper }: TickRange,
): Promise<PoolAccount | null> {
  const key = keccak256(encodePacked(['address', 'int24', 'int24'], [owner, lower, upper]))
  const found = await state.readIfThere(contractCall(poolAbi, pool, 'positions', [key]), null)
  if (found === null) return null
  const [liquidity, last0, last1, owed0, owed1] = found
  return { liquidity, growthCounted: [last0, last1], credited: [owed0, owed1] }
}

/** The location of a position in a pool. */
export interface PoolPlace {
  readonly pool: Address
  /** The owner of the account in the pool from which the position is paid, which several positions may share. */
  readonly owner: Address
  readonly protocol: PoolProtocol
  /** Whether the position's fees go to others, as for staked positions. */
  readonly earnsNoFees?: boolean
}

/** Computes the current amounts and prices of a position, from the state of its pool. */
export async function valuePosition(
  state: BlockState,
  { pool, owner, protocol, earnsNoFees = false }: PoolPlace,
  stored: StoredPosition,
): Promise<Position> {
  const { liquidity, ticks } = stored
  if (!isRange(ticks)) {
    throw new ContractMismatch(pool, state.block.number, `has a position from tick ${ticks.lower} to ${ticks.upper},`)
  }
  const isSlipstream = protocol === 'slipstream'
  const [{ growth, ...price }, shared, feeTier] = await Promise.all([
    readPoolRange(state, pool, ticks, isSlipstream),
    findPoolAccount(state, pool, owner, ticks),
    // Slipstream's fee changes, and the manager stores the tick spacing in its place.
    isSlipstream ? state.readRequired(contractCall(poolAbi, pool, 'fee', [])) : stored.feeTier,
  ])
  if (shared === null) throw new ContractMismatch(pool, state.block.number, "doesn't answer positions()")
  // Collecting credits the fees since the last change, except to a position without liquidity.
  const isCredited = liquidity > 0n && !earnsNoFees
  const accruedTotal = isCredited ? feesOf(shared.liquidity, shared.growthCounted, growth) : nothing
  return {
    ...stored,
    feeTier,
    venue: protocol,
    emissions: null,
    amounts: amountsOf(liquidity, ticks, price),
    accrued: isCredited ? feesOf(liquidity, stored.growthCounted, growth) : nothing,
    account: {
      key: `${pool} ${owner} ${ticks.lower} ${ticks.upper}`,
      owed: [shared.credited[0] + accruedTotal[0], shared.credited[1] + accruedTotal[1]],
    },
    currentTick: price.tick,
    prices: rangePrices(ticks, price.sqrtPriceX96),
  }
}

/** Returns the prices at the bounds of a range, and the current price. */
export function rangePrices({ lower, upper }: TickRange, sqrtPriceX96: bigint): Position['prices'] {
  return {
    lower: priceOf(sqrtPriceAtTick(lower)),
    upper: priceOf(sqrtPriceAtTick(upper)),
    current: priceOf(sqrtPriceX96),
  }
}

/**
 * Converts a square root price to a price: units of token1 for one of token0, in smallest units.
 * @see Uniswap v3 Core whitepaper, section 6.2.1
 */
export function priceOf(sqrtPriceX96: bigint): Decimal {
  return new Decimal((sqrtPriceX96 * sqrtPriceX96).toString()).div(new Decimal(2).pow(192))
}

/** Reads a pool's price, and the fee growth in a range. */
async function readPoolRange(state: BlockState, pool: Address, range: TickRange, isSlipstream: boolean) {
  const outsideOf = async (tick: number): Promise<Amounts> => {
    if (isSlipstream)
      return (await state.readRequired(contractCall(slipstreamAbi, pool, 'ticks', [tick]))).slice(3) as [bigint, bigint]
    return (await state.readRequired(contractCall(poolAbi, pool, 'ticks', [tick]))).slice(2) as [bigint, bigint]
  }
  const [[sqrtPriceX96, tick], global0, global1, lower, upper] = await Promise.all([
    state.readRequired(contractCall(poolAbi, pool, 'slot0', [])),
    state.readRequired(contractCall(poolAbi, pool, 'feeGrowthGlobal0X128', [])),
    state.readRequired(contractCall(poolAbi, pool, 'feeGrowthGlobal1X128', [])),
    outsideOf(range.lower),
    outsideOf(range.upper),
  ])
  if (sqrtPriceX96 === 0n) throw new ContractMismatch(pool, state.block.number, 'has a position and no price')
  const growth = growthInside([global0, global1], lower, upper, range, tick)
  return { sqrtPriceX96, tick, growth }
}
