import { type Address, getAddress, padHex, parseAbi, zeroAddress } from 'viem'
import { inChunks } from '../../rpc/arrays.ts'
import { contractCall } from '../../rpc/calls/contract-call.ts'
import type { BlockState } from '../../rpc/multicall.ts'
import { amountsOf, type Amounts, feesOf } from '../liquidity-math.ts'
import { maxTopics, type NftContract, nftTransfers, nftTransferTopic } from '../nft-transfers.ts'
import { rangePrices } from '../pool.ts'
import { modifyTopic, readModification, v4ChangeAmounts } from './v4-changes.ts'
import { findV4Account, readV4Account, readV4Range, type V4Place, v4PoolId, type V4PoolKey } from './v4-pool.ts'
import type { PositionTerms, StoredPosition, Venue } from '../venue.ts'

const managerAbi = parseAbi([
  'struct PoolKey { address currency0; address currency1; uint24 fee; int24 tickSpacing; address hooks; }',
  'function poolManager() view returns (address)',
  'function getPoolAndPositionInfo(uint256 tokenId) view returns (PoolKey poolKey, uint256 info)',
])
/**
 * Flags in the address of a hook that can change a position's payments: it is called when liquidity is removed, or
 * changes the amounts of adding or removing it. Effects of swap hooks are visible in the pool's price and fee growth.
 * @see Uniswap v4 Core, Hooks.sol
 */
const payingFlags = (1n << 9n) | (1n << 8n) | (1n << 1n) | 1n

/** Maximum number of positions whose pools are cached; log filters for other positions are wider. */
const maxRemembered = 100_000

const nothing: Amounts = [0n, 0n]

/** A PositionManager of Uniswap v4, and the PoolManager that holds its liquidity. */
export interface V4Manager extends NftContract {
  readonly poolManager: Address
}

interface V4Terms extends PositionTerms {
  readonly place: V4Place
  readonly refusal?: string
}

/** Reads the PoolManager of a Uniswap v4 PositionManager; null for any other contract. */
export function readPoolManager(state: BlockState, manager: Address): Promise<Address | null> {
  return state.read(contractCall(managerAbi, manager, 'poolManager', []))
}

/**
 * Creates the venue of Uniswap v4 positions that are NFTs. Each position has a separate account in its pool; a change
 * of liquidity pays all of its fees.
 * @see Uniswap v4 Periphery, PositionManager.sol; Uniswap v4 Core, Pool.sol `modifyLiquidity`
 */
export function v4Positions({ address: manager, prefix, poolManager }: V4Manager): Venue {
  const nfts = nftTransfers({ address: manager, prefix })
  const terms = new Map<string, V4Terms>()

  /** Reads the terms of a position, which never change; null where the position does not exist. */
  const readTerms = async (state: BlockState, id: string): Promise<V4Terms | null> => {
    const number = nfts.numberOf(id)
    const found = await state.read(contractCall(managerAbi, manager, 'getPoolAndPositionInfo', [number]))
    if (found === null) return null
    const [key, info] = found
    const ticks = ticksIn(info)
    // The info of a burned position is empty.
    if (ticks.lower === ticks.upper) return null
    const { currency0: token0, currency1: token1, fee: feeTier } = key
    const place = { poolManager, poolId: v4PoolId(key), owner: manager, number, ticks }
    const read = { token0, token1, feeTier, ticks, place, ...refusalOf(id, key) }
    const [oldest] = terms.keys()
    if (terms.size >= maxRemembered && oldest !== undefined) terms.delete(oldest)
    terms.set(id, read)
    return read
  }

  const readStored = async (state: BlockState, id: string): Promise<StoredPosition | null> => {
    const known = terms.get(id)
    const [read, early] = await Promise.all([readTerms(state, id), known && findV4Account(state, known.place)])
    if (read === null) return null
    // After a reorganisation the number may belong to another position.
    const isKnown = early != null && known?.place.poolId === read.place.poolId && isSame(known.ticks, read.ticks)
    const account = isKnown ? early : await readV4Account(state, read.place)
    const { place: _, ...rest } = read
    return { ...rest, ...account, credited: nothing }
  }

  return {
    name: 'NFTs of Uniswap v4',
    list: { creationsOf: nfts.creationsOf, count: nfts.count },
    contracts: [manager, poolManager],
    topics: [nftTransferTopic, modifyTopic],
    has: nfts.has,
    decodeLog(log) {
      const isOfManager = getAddress(log.address) === manager
      if (log.topics[0] === nftTransferTopic && isOfManager) return nfts.readMove(log)
      const change = isOfManager ? null : readModification(log, manager)
      return change && { kind: 'modified', id: nfts.idOf(change.number), liquidity: change.liquidity }
    },
    movesOf: nfts.movesOf,
    changesOf(ids) {
      const pools = [...new Set(ids.map((id) => terms.get(id)?.place.poolId))]
      const known = pools.filter((pool) => pool !== undefined)
      const places = known.length < pools.length ? [null] : inChunks(known, maxTopics)
      const by = padHex(manager, { size: 32 })
      return places.map((some) => ({ address: poolManager, topics: [[modifyTopic], some, by] }))
    },
    async locate(state, ids) {
      await Promise.all(ids.filter((id) => !terms.has(id)).map((id) => readTerms(state, id)))
    },
    readStored,
    async positionOf(state, id, stored) {
      const known = terms.get(id) ?? (await readTerms(state, id))
      if (known === null) throw new Error(`position ${id} isn't there`)
      const { liquidity, growthCounted, ticks } = stored
      const { growth, feeTier, ...price } = await readV4Range(state, known.place)
      const accrued = liquidity > 0n ? feesOf(liquidity, growthCounted, growth) : nothing
      return {
        ...stored,
        feeTier,
        venue: 'uniswap-v4',
        emissions: null,
        amounts: amountsOf(liquidity, ticks, price),
        accrued,
        account: { key: id, owed: accrued },
        currentTick: price.tick,
        prices: rangePrices(ticks, price.sqrtPriceX96),
      }
    },
    async amountsOf({ id, log }, states) {
      const known = terms.get(id) ?? (await readTerms(states.after, id)) ?? (await readTerms(states.before, id))
      return known && v4ChangeAmounts(states, known.place, log)
    },
  }
}

/** @see Uniswap v4 Periphery, PositionInfoLibrary.sol */
function ticksIn(info: bigint) {
  return { lower: Number(BigInt.asIntN(24, info >> 8n)), upper: Number(BigInt.asIntN(24, info >> 32n)) }
}

function isSame(one: V4Place['ticks'], other: V4Place['ticks']): boolean {
  return one.lower === other.lower && one.upper === other.upper
}

function refusalOf(id: string, { hooks }: V4PoolKey): { readonly refusal?: string } {
  if (hooks === zeroAddress || (BigInt(hooks) & payingFlags) === 0n) return {}
  return { refusal: `holds position ${id} in a pool whose hook ${hooks} can change what it pays,` }
}
