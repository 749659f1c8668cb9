import { type Address, decodeEventLog, type Hex, isAddressEqual, parseAbi, toEventSelector } from 'viem'
import { NodeFault } from '../../errors.ts'
import { readGaplessLogs } from '../../rpc/bloom.ts'
import { type ChainLog, keyOfLog } from '../../rpc/block.ts'
import { amountsOf, type Amounts, feesOf, type PoolPrice } from '../liquidity-math.ts'
import { readV4Account, readV4Range, type V4Account, type V4Place, type V4Range } from './v4-pool.ts'
import type { ChangeStates } from '../venue.ts'

const modifyEvent = parseAbi([
  'event ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, int256 liquidityDelta, bytes32 salt)',
])
const poolEvents = parseAbi([
  'event Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, uint24 fee, int24 tickSpacing, address hooks, uint160 sqrtPriceX96, int24 tick)',
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
  'event Donate(bytes32 indexed id, address indexed sender, uint256 amount0, uint256 amount1)',
])
const growthTopics = poolEvents.map(toEventSelector)

/** First topic of liquidity changes in a PoolManager. */
export const modifyTopic: Hex = toEventSelector(modifyEvent[0])

/** A change of a position in a PoolManager. */
interface Modification {
  readonly number: bigint
  /** Liquidity that was added; negative where it was removed. */
  readonly liquidity: bigint
}

/** Decodes a liquidity change by a PositionManager; null for any other log. */
export function readModification({ topics, data }: ChainLog, manager: Address): Modification | null {
  if (topics[0] !== modifyTopic || topics.length !== 3) return null
  const { args } = decodeEventLog({ abi: modifyEvent, topics: topics as [Hex, ...Hex[]], data })
  return args.sender === manager ? { number: BigInt(args.salt), liquidity: args.liquidityDelta } : null
}

/** The state of one position before and after a block. */
interface Bounds {
  readonly before: V4Account & V4Range
  readonly after: V4Account & V4Range
}

/**
 * The events of a pool in a block: changes of the price or fee growth, and changes of one position. The place of a log is its index
 * among all logs of the block: some nodes number those of each transaction anew.
 */
interface PoolBlock {
  readonly growths: readonly { readonly place: number; readonly price: PoolPrice | null }[]
  readonly changes: readonly { readonly place: number; readonly key: string; readonly liquidity: bigint }[]
}

/**
 * Computes the amounts of a position's change, which its log does not contain: of the added or removed liquidity at the
 * price at that point of the block, or the fees of a change by zero.
 * @returns null for fees where the position changed again in the block and others traded in between: no state
 *   contains the fee growth at that point
 * @see Uniswap v4 Core, Pool.sol `modifyLiquidity`
 */
export async function v4ChangeAmounts(
  { block: header, before, after }: ChangeStates,
  place: V4Place,
  log: ChainLog,
): Promise<Amounts | null> {
  const read = await Promise.all(
    [before, after].map(async (state) => {
      const [account, range] = await Promise.all([readV4Account(state, place), readV4Range(state, place)])
      return { ...account, ...range }
    }),
  )
  const bounds = { before: read[0], after: read[1] } as Bounds
  const block = await after.rpc.askAt(header, async (node) => {
    const decoded = decodePoolLogs(await readGaplessLogs(node, header), place)
    if (explains(decoded, bounds, log)) return decoded
    throw new NodeFault(`left out logs of the pool ${place.poolId} in block ${header.number}`)
  })
  const change = block.changes.find(({ key }) => key === keyOfLog(log))
  if (change === undefined) return null
  const { liquidity, place: placeOfChange } = change
  if (liquidity === 0n) return feesAt(block, bounds, block.changes.indexOf(change))
  const price = block.growths.findLast((one) => one.price !== null && one.place < placeOfChange)?.price ?? bounds.before
  const added = liquidity > 0n
  return amountsOf(added ? liquidity : -liquidity, place.ticks, price, added ? 'up' : 'down')
}

function decodePoolLogs(logs: readonly ChainLog[], { poolManager, poolId, owner, number }: V4Place): PoolBlock {
  const ofPool = [...logs.entries()].filter(
    ([, { address, topics }]) => isAddressEqual(address, poolManager) && topics[1] === poolId,
  )
  return {
    growths: ofPool.flatMap(([place, log]) => {
      if (!growthTopics.includes(log.topics[0] ?? '0x')) return []
      const { eventName, args } = decodeEventLog({
        abi: poolEvents,
        topics: log.topics as [Hex, ...Hex[]],
        data: log.data,
      })
      return [{ place, price: eventName === 'Donate' ? null : { sqrtPriceX96: args.sqrtPriceX96, tick: args.tick } }]
    }),
    changes: ofPool.flatMap(([place, log]) => {
      const change = readModification(log, owner)
      return change?.number === number ? [{ place, key: keyOfLog(log), liquidity: change.liquidity }] : []
    }),
  }
}

/** Returns whether logs explain how a block has changed the pool's price and the position's liquidity. */
function explains({ growths, changes }: PoolBlock, { before, after }: Bounds, log: ChainLog): boolean {
  const { sqrtPriceX96 } = growths.findLast(({ price }) => price !== null)?.price ?? before
  const added = changes.reduce((sum, { liquidity }) => sum + liquidity, 0n)
  return (
    sqrtPriceX96 === after.sqrtPriceX96 &&
    before.liquidity + added === after.liquidity &&
    changes.some(({ key }) => key === keyOfLog(log))
  )
}

/**
 * Returns the fees that one of the changes has paid. The account stores the fee growth at the block's last change. It
 * also holds at the change before, if the position had liquidity and nobody traded or donated in between.
 */
function feesAt({ growths, changes }: PoolBlock, { before, after }: Bounds, index: number): Amounts | null {
  const liquidities = changes.map((_, until) =>
    changes.slice(0, until).reduce((sum, { liquidity }) => sum + liquidity, before.liquidity),
  )
  /** Returns whether the fee growth is the same at two changes; -1 is the block's start. */
  const stays = (from: number, to: number): boolean => {
    const [first, last] = [changes[from]?.place ?? -1, changes[to]?.place ?? Infinity]
    const isMoved = growths.some(({ place }) => place > first && place < last)
    return !isMoved && liquidities.slice(from + 1, to + 1).every((liquidity) => liquidity > 0n)
  }
  const growthAt = (at: number): Amounts | null => {
    if (stays(at, changes.length - 1)) return after.growthCounted
    return stays(-1, at) ? before.growth : null
  }
  if (index > 0 && stays(index - 1, index)) return [0n, 0n]
  const from = index === 0 ? before.growthCounted : growthAt(index - 1)
  const to = growthAt(index)
  return from && to && feesOf(liquidities[index] ?? 0n, from, to)
}
