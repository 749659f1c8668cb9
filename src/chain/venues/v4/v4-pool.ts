import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodePacked,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { ContractMismatch } from '../../errors.ts'
import { contractCall } from '../../rpc/calls/contract-call.ts'
import type { BlockState } from '../../rpc/multicall.ts'
import { type Amounts, growthInside, type PoolPrice, type TickRange } from '../liquidity-math.ts'

/**
 * Storage layout of the Uniswap v4 PoolManager, which has no other functions to read pools.
 * @see Uniswap v4 Core, StateLibrary.sol; Pool.sol `State`
 */
const poolsSlot = 6n
const offsets = { growthGlobal: 1n, ticks: 4n, positions: 6n }

const managerAbi = parseAbi(['function extsload(bytes32[] slots) view returns (bytes32[])'])
const keyParameters = parseAbiParameters('address, address, uint24, int24, address')

/** The terms of a Uniswap v4 pool; the pool's id is their hash. */
export interface V4PoolKey {
  readonly currency0: Address
  readonly currency1: Address
  readonly fee: number
  readonly tickSpacing: number
  readonly hooks: Address
}

/** The location of a position in the PoolManager. */
export interface V4Place {
  readonly poolManager: Address
  readonly poolId: Hex
  /** The PositionManager, which has a separate account for each NFT, by number. */
  readonly owner: Address
  readonly number: bigint
  readonly ticks: TickRange
}

/** A position as the PoolManager stores it. */
export interface V4Account {
  readonly liquidity: bigint
  /** Fee growth inside the range up to which fees were paid, times 2^128. */
  readonly growthCounted: Amounts
}

/** The state of a pool that is needed to value a position. */
export interface V4Range extends PoolPrice {
  /** Fee of the next swap without a hook, in hundredths of a basis point. */
  readonly feeTier: number
  readonly growth: Amounts
}

/** @see Uniswap v4 Core, PoolId.sol `toId` */
export function v4PoolId({ currency0, currency1, fee, tickSpacing, hooks }: V4PoolKey): Hex {
  return keccak256(encodeAbiParameters(keyParameters, [currency0, currency1, fee, tickSpacing, hooks]))
}

/** Reads the account of a position. */
export async function readV4Account(state: BlockState, place: V4Place): Promise<V4Account> {
  return accountIn(await readWords(state, place.poolManager, accountSlots(place)))
}

/** Reads the account of a position; null where the PoolManager does not exist. */
export async function findV4Account(state: BlockState, place: V4Place): Promise<V4Account | null> {
  const words = await findWords(state, place.poolManager, accountSlots(place))
  return words && accountIn(words)
}

function accountSlots({ poolId, owner, number, ticks }: V4Place): bigint[] {
  const packed = encodePacked(
    ['address', 'int24', 'int24', 'bytes32'],
    [owner, ticks.lower, ticks.upper, numberToHex(number, { size: 32 })],
  )
  const slot = mappingSlot(keccak256(packed), poolSlot(poolId) + offsets.positions)
  return [slot, slot + 1n, slot + 2n]
}

function accountIn(words: readonly bigint[]): V4Account {
  const [liquidity, last0, last1] = words as [bigint, bigint, bigint]
  return { liquidity, growthCounted: [last0, last1] }
}

/** Reads a pool's price, and the fee growth in the range of a position. */
export async function readV4Range(state: BlockState, { poolManager, poolId, ticks }: V4Place): Promise<V4Range> {
  const slot = poolSlot(poolId)
  const [lower, upper] = [ticks.lower, ticks.upper].map((tick) =>
    mappingSlot(numberToHex(tick, { size: 32, signed: true }), slot + offsets.ticks),
  ) as [bigint, bigint]
  const global = slot + offsets.growthGlobal
  const slots = [slot, global, global + 1n, lower + 1n, lower + 2n, upper + 1n, upper + 2n]
  type Words = [slot0: bigint, global0: bigint, global1: bigint, bigint, bigint, bigint, bigint]
  const [slot0, global0, global1, ...outside] = (await readWords(state, poolManager, slots)) as Words
  const price = readSlot0(slot0)
  const [lower0, lower1, upper0, upper1] = outside
  const growth = growthInside([global0, global1], [lower0, lower1], [upper0, upper1], ticks, price.tick)
  return { ...price, growth }
}

/** @see Uniswap v4 Core, Slot0.sol */
function readSlot0(word: bigint): PoolPrice & { readonly feeTier: number } {
  return {
    sqrtPriceX96: BigInt.asUintN(160, word),
    tick: Number(BigInt.asIntN(24, word >> 160n)),
    feeTier: Number(BigInt.asUintN(24, word >> 208n)),
  }
}

/** @throws {ContractMismatch} when the PoolManager does not exist, or does not answer */
async function readWords(state: BlockState, poolManager: Address, slots: readonly bigint[]): Promise<bigint[]> {
  const words = await findWords(state, poolManager, slots)
  if (words !== null) return words
  throw new ContractMismatch(poolManager, state.block.number, "doesn't answer extsload()")
}

/** Reads words of storage; null where the PoolManager does not exist. */
async function findWords(state: BlockState, poolManager: Address, slots: readonly bigint[]): Promise<bigint[] | null> {
  const keys = slots.map((slot) => numberToHex(slot, { size: 32 }))
  const words = await state.readIfThere(contractCall(managerAbi, poolManager, 'extsload', [keys]), null)
  if (words === null) return null
  if (words.length === slots.length) return words.map(BigInt)
  throw new ContractMismatch(poolManager, state.block.number, `answers ${slots.length} slots by ${words.length}`)
}

function poolSlot(poolId: Hex): bigint {
  return mappingSlot(poolId, poolsSlot)
}

function mappingSlot(key: Hex, slot: bigint): bigint {
  return BigInt(keccak256(concatHex([key, numberToHex(slot, { size: 32 })])))
}
