import {
  type Address,
  decodeEventLog,
  encodePacked,
  type Hex,
  keccak256,
  numberToHex,
  padHex,
  parseAbi,
  toEventSelector,
  zeroAddress,
} from 'viem'
import { Decimal } from '../../domain/decimal.ts'
import type { ChainLog } from '../rpc/block.ts'
import { ContractMismatch } from '../errors.ts'
import { inChunks } from '../rpc/arrays.ts'
import type { LogFilter } from '../rpc/node.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import { amountsOf, type Amounts, feesOf, growthInside, type TickRange } from './liquidity-math.ts'
import { sqrtPriceAtTick } from './tick-math.ts'
import type { PositionChange, PositionTerms, Venue } from './venue.ts'

const managerEvents = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1)',
])
const managerAbi = parseAbi([
  'function factory() view returns (address)',
  'function balanceOf(address owner) view returns (uint256)',
  'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  'function positions(uint256 tokenId) view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
])
const factoryAbi = parseAbi(['function getPool(address, address, uint24) view returns (address)'])

/** ABI of the pool functions that are read. */
export const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  'function feeGrowthGlobal0X128() view returns (uint256)',
  'function feeGrowthGlobal1X128() view returns (uint256)',
  'function ticks(int24 tick) view returns (uint128 liquidityGross, int128 liquidityNet, uint256 feeGrowthOutside0X128, uint256 feeGrowthOutside1X128, int56 tickCumulativeOutside, uint160 secondsPerLiquidityOutsideX128, uint32 secondsOutside, bool initialized)',
  'function positions(bytes32 key) view returns (uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
])

const [transfer, increase, decrease, collect] = managerEvents.map(toEventSelector) as [Hex, Hex, Hex, Hex]

const nothing: Amounts = [0n, 0n]

/** Maximum number of topics in a filter: providers accept some hundreds. */
const maxTopics = 200

/**
 * Creates the venue of Uniswap v3, whose positions are NFTs of the NonfungiblePositionManager.
 * @param manager address of the NonfungiblePositionManager
 * @see Uniswap v3 Periphery, NonfungiblePositionManager.sol
 */
export function uniswapV3(manager: Address): Venue {
  const pools = new Map<string, Promise<Address>>()

  /** Returns the address of a position's pool, cached because it never changes. */
  const poolOf = (state: BlockState, { token0, token1, feeTier }: PositionTerms): Promise<Address> => {
    const key = `${token0} ${token1} ${feeTier}`
    const known = pools.get(key) ?? findPool(state, manager, token0, token1, feeTier)
    pools.set(key, known)
    known.catch(() => pools.delete(key))
    return known
  }
  const topicsOf = (ids: readonly string[]): Hex[] => ids.map((id) => numberToHex(BigInt(id), { size: 32 }))

  return {
    name: 'uniswap-v3',
    address: manager,
    topics: [transfer, increase, decrease, collect],
    readLog,
    movesOf(owners) {
      const topics = owners.map((owner) => padHex(owner, { size: 32 }))
      return inChunks(topics, maxTopics).flatMap((some): LogFilter[] => [
        { address: manager, topics: [transfer, some] },
        { address: manager, topics: [transfer, null, some] },
      ])
    },
    changesOf(ids) {
      return inChunks(topicsOf(ids), maxTopics).map((some) => ({
        address: manager,
        topics: [[increase, decrease, collect], some],
      }))
    },
    creationsOf(ids) {
      const nobody = padHex(zeroAddress, { size: 32 })
      return inChunks(topicsOf(ids), maxTopics).map((some) => ({
        address: manager,
        topics: [transfer, nobody, null, some],
      }))
    },
    async count(state, owner) {
      return Number(await state.readIfThere(contractCall(managerAbi, manager, 'balanceOf', [owner]), 0n))
    },
    async idAt(state, owner, index) {
      const call = contractCall(managerAbi, manager, 'tokenOfOwnerByIndex', [owner, BigInt(index)])
      return String(await state.readRequired(call))
    },
    async readStored(state, id) {
      const found = await state.read(contractCall(managerAbi, manager, 'positions', [BigInt(id)]))
      if (found === null) return null
      const [, , token0, token1, feeTier, lower, upper, liquidity, last0, last1, credited0, credited1] = found
      return {
        token0,
        token1,
        feeTier,
        ticks: { lower, upper },
        liquidity,
        credited: [credited0, credited1],
        growthCounted: [last0, last1],
      }
    },
    async positionOf(state, stored) {
      const { liquidity, ticks } = stored
      const pool = await poolOf(state, stored)
      const { growth, shared, ...price } = await poolAt(state, pool, manager, ticks)
      // Collecting credits the fees since the last change, except to a position without liquidity.
      const isCredited = liquidity > 0n
      const accruedTotal = isCredited ? feesOf(shared.liquidity, shared.growthCounted, growth) : nothing
      return {
        ...stored,
        amounts: amountsOf(liquidity, ticks, price),
        accrued: isCredited ? feesOf(liquidity, stored.growthCounted, growth) : nothing,
        account: {
          key: `${pool} ${ticks.lower} ${ticks.upper}`,
          owed: [shared.credited[0] + accruedTotal[0], shared.credited[1] + accruedTotal[1]],
        },
        currentTick: price.tick,
        prices: {
          lower: priceOf(sqrtPriceAtTick(ticks.lower)),
          upper: priceOf(sqrtPriceAtTick(ticks.upper)),
          current: priceOf(price.sqrtPriceX96),
        },
      }
    },
  }
}

/**
 * Converts a square root price to a price: units of token1 for one of token0, in smallest units.
 * @see Uniswap v3 Core whitepaper, section 6.2.1
 */
export function priceOf(sqrtPriceX96: bigint): Decimal {
  return new Decimal((sqrtPriceX96 * sqrtPriceX96).toString()).div(new Decimal(2).pow(192))
}

function readLog(log: ChainLog): PositionChange | null {
  // ERC-20's Transfer has the same first topic, but one indexed parameter less.
  if (log.topics[0] === transfer && log.topics.length !== 4) return null
  if (![transfer, increase, decrease, collect].includes(log.topics[0] ?? '0x')) return null
  const { eventName, args } = decodeEventLog({
    abi: managerEvents,
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  })
  const id = String(args.tokenId)
  if (eventName === 'Transfer') return { kind: 'moved', id, from: args.from, to: args.to }
  const amounts: Amounts = [args.amount0, args.amount1]
  if (eventName === 'Collect') return { kind: 'collected', id, amounts }
  return { kind: eventName === 'IncreaseLiquidity' ? 'increased' : 'decreased', id, liquidity: args.liquidity, amounts }
}

async function findPool(
  state: BlockState,
  manager: Address,
  ...pool: readonly [token0: Address, token1: Address, feeTier: number]
): Promise<Address> {
  const factory = await state.readRequired(contractCall(managerAbi, manager, 'factory', []))
  return state.readRequired(contractCall(factoryAbi, factory, 'getPool', pool))
}

/**
 * Reads a pool's price, the fee growth in a range, and the pool's own position there. The manager has one in each range,
 * for all of its NFTs: its fees are rounded down once a change of any of them, so that it can owe less than their sum.
 * @see Uniswap v3 Core, Position.sol `get`
 */
async function poolAt(state: BlockState, pool: Address, manager: Address, range: TickRange) {
  const key = keccak256(encodePacked(['address', 'int24', 'int24'], [manager, range.lower, range.upper]))
  const [slot0, global0, global1, lower, upper, shared] = await Promise.all([
    state.readRequired(contractCall(poolAbi, pool, 'slot0', [])),
    state.readRequired(contractCall(poolAbi, pool, 'feeGrowthGlobal0X128', [])),
    state.readRequired(contractCall(poolAbi, pool, 'feeGrowthGlobal1X128', [])),
    state.readRequired(contractCall(poolAbi, pool, 'ticks', [range.lower])),
    state.readRequired(contractCall(poolAbi, pool, 'ticks', [range.upper])),
    state.readRequired(contractCall(poolAbi, pool, 'positions', [key])),
  ])
  const [sqrtPriceX96, tick] = slot0
  if (sqrtPriceX96 === 0n) throw new ContractMismatch(pool, state.block.number, 'has a position and no price')
  const growth = growthInside([global0, global1], [lower[2], lower[3]], [upper[2], upper[3]], range, tick)
  const [liquidity, last0, last1, owed0, owed1] = shared
  const own = { liquidity, growthCounted: [last0, last1] as Amounts, credited: [owed0, owed1] as Amounts }
  return { sqrtPriceX96, tick, growth, shared: own }
}
