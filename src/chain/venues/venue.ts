import type { Address, Hex } from 'viem'
import type { Decimal } from '../../domain/decimal.ts'
import type { ChainLog } from '../rpc/block.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts, TickRange } from './liquidity-math.ts'

/** What a log says of a position. */
export type PositionChange =
  | { readonly kind: 'moved'; readonly id: string; readonly from: Address; readonly to: Address }
  | {
      readonly kind: 'increased' | 'decreased'
      readonly id: string
      readonly liquidity: bigint
      readonly amounts: Amounts
    }
  | { readonly kind: 'collected'; readonly id: string; readonly amounts: Amounts }

/** What never changes of a position. */
export interface PositionTerms {
  readonly token0: Address
  readonly token1: Address
  /** Hundredths of a basis point. */
  readonly feeTier: number
  readonly ticks: TickRange
}

/** What the venue's contract says of a position. Amounts are of token0 and token1, in their smallest units. */
export interface StoredPosition extends PositionTerms {
  readonly liquidity: bigint
  /** What was credited to it and not collected: fees, and liquidity that was taken out. */
  readonly credited: Amounts
  /** The growth of fees inside of its range up to which they are credited, as the venue counts it. */
  readonly growthCounted: Amounts
}

/** A position as it stands in its pool. */
export interface Position extends StoredPosition {
  /** What withdrawing its liquidity pays out. */
  readonly amounts: Amounts
  /** Fees that it has earned and that aren't credited yet. */
  readonly accrued: Amounts
  readonly currentTick: number
  /** Units of token1 for one of token0, each in its smallest. */
  readonly prices: { readonly lower: Decimal; readonly upper: Decimal; readonly current: Decimal }
}

/** A place where liquidity is held as positions: what the reader has to know of it. */
export interface Venue {
  readonly name: string
  /** The contract whose logs tell of positions. */
  readonly address: Address
  /** First topics of those logs. */
  readonly topics: readonly Hex[]
  /** What a log of the contract says; null where that is nothing of positions. */
  readLog(log: ChainLog): PositionChange | null
  /** Finds positions that come to one of these owners, or leave them. */
  movesOf(owners: readonly Address[]): readonly LogFilter[]
  /** Finds all that happens to these positions. */
  changesOf(ids: readonly string[]): readonly LogFilter[]
  /** How many positions an owner has. */
  count(state: BlockState, owner: Address): Promise<number>
  /** The positions that an owner has. */
  idsOf(state: BlockState, owner: Address): Promise<readonly string[]>
  /** Null where there is no such position. */
  storedOf(state: BlockState, id: string): Promise<StoredPosition | null>
  /** The rest of what there is to know of it. */
  positionOf(state: BlockState, stored: StoredPosition): Promise<Position>
}
