import { type Address, decodeEventLog, type Hex, parseAbi, toEventSelector, zeroAddress } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { inChunks } from '../rpc/arrays.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts } from './liquidity-math.ts'
import { isStaked, readEmissions } from './gauge.ts'
import { maxTopics, type NftContract, nftTransfers, nftTransferTopic } from './nft-transfers.ts'
import { valuePosition } from './pool.ts'
import type { Pools } from './pools.ts'
import type { PositionChange, PositionCustody, PositionTerms, StoredPosition, Venue } from './venue.ts'

const managerEvents = parseAbi([
  'event IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1)',
])
const managerAbi = parseAbi([
  'function factory() view returns (address)',
  'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  'function positions(uint256 tokenId) view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
])
const factoryAbi = parseAbi(['function getPool(address, address, uint24) view returns (address)'])
/** Slipstream identifies a pool by two tokens and a tick spacing. */
const slipstreamAbi = parseAbi(['function getPool(address, address, int24) view returns (address)'])

const changeTopics = managerEvents.map(toEventSelector)

/** A NonfungiblePositionManager. */
export interface NftManager extends NftContract {
  readonly pools: Pools
  /** Whether the manager is Slipstream's: a gauge may hold its positions for their owner. */
  readonly isSlipstream: boolean
}

/**
 * Returns whether a manager is Slipstream's, whose factory finds pools by tick spacing.
 * @throws {ContractMismatch} when the contract does not answer as a manager
 */
export async function readIsSlipstream(state: BlockState, manager: Address): Promise<boolean> {
  const factory = await state.readRequired(contractCall(managerAbi, manager, 'factory', []))
  return (await state.read(contractCall(slipstreamAbi, factory, 'getPool', [zeroAddress, zeroAddress, 1]))) !== null
}

/**
 * Creates the venue of positions that are NFTs of a NonfungiblePositionManager. The manager has one account for each
 * range of a pool, shared by all NFTs. The account's fees are rounded down at a change of any NFT, so that the pool can
 * owe less than the NFTs' sum. Slipstream's staked positions are in the account of their gauge.
 * @see Uniswap v3 Periphery, NonfungiblePositionManager.sol
 */
export function nftPositions({ address: manager, pools, isSlipstream, prefix }: NftManager): Venue {
  const found = new Map<string, Promise<Address>>()

  /** Returns the address of a position's pool, cached because it never changes. */
  const poolOf = (state: BlockState, { token0, token1, feeTier }: PositionTerms): Promise<Address> => {
    const key = `${token0} ${token1} ${feeTier}`
    const known = found.get(key) ?? findPool(state, manager, isSlipstream, [token0, token1, feeTier])
    found.set(key, known)
    known.catch(() => found.delete(key))
    return known
  }
  const nfts = nftTransfers({ address: manager, prefix })
  const { numberOf } = nfts

  const readStored = async (state: BlockState, id: string): Promise<StoredPosition | null> => {
    const found = await state.read(contractCall(managerAbi, manager, 'positions', [numberOf(id)]))
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
  }

  const custody: PositionCustody = {
    async custodianOf(state, id) {
      const stored = await readStored(state, id)
      return stored && (await pools.gaugeOf(state, await poolOf(state, stored)))
    },
    isHeld: (state, id, held) => isStaked(state, held, numberOf(id)),
  }

  return {
    name: `NFTs of ${isSlipstream ? 'Slipstream' : 'Uniswap v3 or PancakeSwap v3'}`,
    list: {
      creationsOf: nfts.creationsOf,
      count: nfts.count,
      async idAt(state, owner, index) {
        const call = contractCall(managerAbi, manager, 'tokenOfOwnerByIndex', [owner, BigInt(index)])
        return nfts.idOf(await state.readRequired(call))
      },
    },
    contracts: [manager],
    has: nfts.has,
    topics: [nftTransferTopic, ...changeTopics],
    decodeLog: (log) => decodeLog(log, nfts),
    movesOf: nfts.movesOf,
    changesOf(ids) {
      return inChunks(nfts.topicsOf(ids), maxTopics).map((some) => ({
        address: manager,
        topics: [changeTopics, some],
      }))
    },
    readStored,
    async positionOf(state, id, stored, held) {
      const pool = await poolOf(state, stored)
      const protocol = await pools.protocolOf(state, pool)
      if (held === undefined) return valuePosition(state, { pool, owner: manager, protocol }, stored)
      const [position, emissions] = await Promise.all([
        valuePosition(state, { pool, owner: held.custodian, protocol, earnsNoFees: true }, stored),
        readEmissions(state, held, numberOf(id)),
      ])
      return { ...position, emissions }
    },
    ...(isSlipstream ? { custody } : {}),
  }
}

function decodeLog(log: ChainLog, { idOf, readMove }: ReturnType<typeof nftTransfers>): PositionChange | null {
  const [topic = '0x'] = log.topics
  // ERC-20's Transfer has the same first topic, but one indexed parameter less.
  if (topic === nftTransferTopic) return log.topics.length === 4 ? readMove(log) : null
  if (!changeTopics.includes(topic)) return null
  const { eventName, args } = decodeEventLog({
    abi: managerEvents,
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  })
  const id = idOf(args.tokenId)
  const amounts: Amounts = [args.amount0, args.amount1]
  if (eventName === 'Collect') return { kind: 'collected', id, amounts }
  return { kind: eventName === 'IncreaseLiquidity' ? 'increased' : 'decreased', id, liquidity: args.liquidity, amounts }
}

async function findPool(
  state: BlockState,
  manager: Address,
  isSlipstream: boolean,
  pool: readonly [token0: Address, token1: Address, feeTier: number],
): Promise<Address> {
  const factory = await state.readRequired(contractCall(managerAbi, manager, 'factory', []))
  const call = isSlipstream
    ? contractCall(slipstreamAbi, factory, 'getPool', pool)
    : contractCall(factoryAbi, factory, 'getPool', pool)
  return state.readRequired(call)
}
