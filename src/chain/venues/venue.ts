import type { Address, Hex } from 'viem'
import type { Decimal } from '../../domain/decimal.ts'
import type { ChainLog } from '../rpc/block.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts, TickRange } from './liquidity-math.ts'

/** A change of a position that a log reports. */
export type PositionChange =
  | { readonly kind: 'moved'; readonly id: string; readonly from: Address; readonly to: Address }
  | {
      readonly kind: 'increased' | 'decreased'
      readonly id: string
      readonly liquidity: bigint
      readonly amounts: Amounts
    }
  | { readonly kind: 'collected'; readonly id: string; readonly amounts: Amounts }

/** The immutable terms of a position. */
export interface PositionTerms {
  readonly token0: Address
  readonly token1: Address
  /** Hundredths of a basis point. */
  readonly feeTier: number
  readonly ticks: TickRange
}

/** A position as the venue's contract stores it. Amounts are in smallest units of token0 and token1. */
export interface StoredPosition extends PositionTerms {
  readonly liquidity: bigint
  /** Uncollected amounts that were credited: fees and withdrawn liquidity. */
  readonly credited: Amounts
  /** Fee growth inside its range up to which fees were credited, times 2^128. */
  readonly growthCounted: Amounts
}

/** An account of a venue from which uncollected amounts are paid. */
export interface PayingAccount {
  readonly key: string
  /** Amounts that collecting from this position could pay at most. */
  readonly owed: Amounts
}

/** A position with its current amounts and prices. */
export interface Position extends StoredPosition {
  /** Amounts that withdrawing its liquidity would pay out. */
  readonly amounts: Amounts
  /** Fees that were earned but not credited yet. */
  readonly accrued: Amounts
  /** The account from which the venue pays credited and accrued amounts, which several positions can share. */
  readonly account: PayingAccount
  readonly currentTick: number
  /** Units of token1 for one of token0, in smallest units. */
  readonly prices: { readonly lower: Decimal; readonly upper: Decimal; readonly current: Decimal }
}

/** A protocol that holds liquidity as positions, as far as the reader uses it. */
export interface Venue {
  readonly name: string
  /** The contract that emits the logs about positions. */
  readonly address: Address
  /** First topics of these logs. */
  readonly topics: readonly Hex[]
  /** Decodes a log of the contract; null where it is not about a position. */
  readLog(log: ChainLog): PositionChange | null
  /** Returns filters for transfers of positions to or from these owners. */
  movesOf(owners: readonly Address[]): readonly LogFilter[]
  /** Returns filters for all changes of these positions. */
  changesOf(ids: readonly string[]): readonly LogFilter[]
  /** Returns filters for the transfers that create these positions. */
  creationsOf(ids: readonly string[]): readonly LogFilter[]
  /** Reads the number of positions of an owner. */
  count(state: BlockState, owner: Address): Promise<number>
  /** Reads the id of one of the positions of an owner, by its index in a list whose order changes. */
  idAt(state: BlockState, owner: Address, index: number): Promise<string>
  /** Reads a position from the contract; null where it does not exist. */
  readStored(state: BlockState, id: string): Promise<StoredPosition | null>
  /** Computes the current amounts and prices of a position. */
  positionOf(state: BlockState, stored: StoredPosition): Promise<Position>
}
