import {
  type Address,
  decodeEventLog,
  type Hex,
  numberToHex,
  padHex,
  parseAbi,
  toEventSelector,
  zeroAddress,
} from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { inChunks } from '../rpc/arrays.ts'
import type { LogFilter } from '../rpc/node.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import type { Amounts } from './liquidity-math.ts'
import { valuePosition } from './pool.ts'
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

const [transfer, increase, decrease, collect] = managerEvents.map(toEventSelector) as [Hex, Hex, Hex, Hex]

/** Maximum number of topics in a filter: providers accept some hundreds. */
const maxTopics = 200

/**
 * Creates the venue of Uniswap v3 positions that are NFTs of the NonfungiblePositionManager. The manager has one account
 * in each range of a pool, for all of its NFTs: its fees are rounded down once a change of any of them, so that the pool
 * can owe less than their sum.
 * @param manager address of the NonfungiblePositionManager
 * @see Uniswap v3 Periphery, NonfungiblePositionManager.sol
 */
export function nftPositions(manager: Address): Venue {
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
    list: {
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
    },
    contracts: [manager],
    has: (id) => /^\d+$/.test(id),
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
    async positionOf(state, _, stored) {
      return valuePosition(state, { pool: await poolOf(state, stored), owner: manager, venue: 'uniswap-v3' }, stored)
    },
  }
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
