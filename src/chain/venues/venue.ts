import type { Address, Hex } from 'viem'
import type { Decimal } from '../../domain/decimal.ts'
import type { ChainLog, Header } from '../rpc/block.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts, TickRange } from './liquidity-math.ts'

/** Protocol of a pool, as marks name it. */
export type PoolProtocol = 'uniswap-v3' | 'uniswap-v4' | 'pancakeswap-v3' | 'slipstream'

/** A contract that holds positions for accounts, and the account that one of them came from. */
export interface Custody {
  readonly custodian: Address
  readonly account: Address
}

/** The account of a position that cannot be transferred, and the author of a change of it. */
export interface FixedAccount {
  readonly owner: Address
  /** Whether the owner made the change itself: anyone can add liquidity for anyone. */
  readonly isByOwner: boolean
}

interface Change {
  readonly id: string
  /** Absent for positions that are transferred from account to account. */
  readonly account?: FixedAccount
}

/** A change of a position that a log reports. */
export type PositionChange =
  | (Change & { readonly kind: 'moved'; readonly from: Address; readonly to: Address })
  | (Change & { readonly kind: 'increased' | 'decreased'; readonly liquidity: bigint; readonly amounts: Amounts })
  | (Change & { readonly kind: 'collected'; readonly amounts: Amounts })
  /** Liquidity that was added, removed where it is negative, or 0, with all fees paid at once. The log tells no amounts. */
  | (Change & { readonly kind: 'modified'; readonly liquidity: bigint })

/** A change whose log tells no amounts. */
export interface UntoldChange {
  readonly id: string
  readonly log: ChainLog
}

/** The block of a change, and the states at its end and at that of the block before. */
export interface ChangeStates {
  readonly block: Header
  readonly before: BlockState
  readonly after: BlockState
}

/** The immutable terms of a position. */
export interface PositionTerms {
  readonly token0: Address
  readonly token1: Address
  /** Hundredths of a basis point; of Slipstream's NFTs the tick spacing, which their manager stores in its place. */
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
  /** Why it can't be told what it pays, as the end of a sentence about its vault; absent where it can. */
  readonly refusal?: string
}

/** An account of a venue from which uncollected amounts are paid. */
export interface PayingAccount {
  readonly key: string
  /** Amounts that collecting from this position could pay at most. */
  readonly owed: Amounts
}

/** An amount of a token in its smallest units. */
export interface TokenUnits {
  readonly token: Address
  readonly units: bigint
}

/** A position with its current amounts and prices. */
export interface Position extends StoredPosition {
  readonly venue: PoolProtocol
  /** Amounts that withdrawing its liquidity would pay out. */
  readonly amounts: Amounts
  /** Fees that were earned but not credited yet. */
  readonly accrued: Amounts
  /** The account from which the venue pays credited and accrued amounts, which several positions can share. */
  readonly account: PayingAccount
  /** Rewards beside fees that its custodian would pay; null where there is none. */
  readonly emissions: TokenUnits | null
  readonly currentTick: number
  /** Units of token1 for one of token0, in smallest units. */
  readonly prices: { readonly lower: Decimal; readonly upper: Decimal; readonly current: Decimal }
}

/** The list that a venue keeps of the positions of each account. */
export interface PositionList {
  /** Reads the number of positions of an owner. */
  count(state: BlockState, owner: Address): Promise<number>
  /**
   * Reads the id of one of the positions of an owner, by its index in a list whose order changes. Absent where the
   * contract only counts them, so that logs tell which they are.
   */
  idAt?(state: BlockState, owner: Address, index: number): Promise<string>
  /** Returns filters for the transfers that create these positions. */
  creationsOf(ids: readonly string[]): readonly LogFilter[]
}

/** Contracts that take positions of a venue into custody, and hold them for the account that they came from. */
export interface PositionCustody {
  /** Reads the contract that may take a position into custody; null where the position or such a contract is not there. */
  custodianOf(state: BlockState, id: string): Promise<Address | null>
  /** Tells whether a position is in custody for an account. */
  isHeld(state: BlockState, id: string, custody: Custody): Promise<boolean>
}

/** A protocol that holds liquidity as positions, as far as the reader uses it. */
export interface Venue {
  /** Its positions in words. */
  readonly name: string
  /** Absent where only logs tell the positions of an account. */
  readonly list?: PositionList
  /** Absent where positions are not taken into custody. */
  readonly custody?: PositionCustody
  /** The contracts that emit the logs about positions. */
  readonly contracts: readonly Address[]
  /** First topics of these logs. */
  readonly topics: readonly Hex[]
  /** Tells whether a position is one of this venue, by the form of its id. */
  has(id: string): boolean
  /** Decodes a log of the contracts; null where it is not about a position. */
  readLog(log: ChainLog): PositionChange | null
  /** Returns filters for transfers of positions to or from these owners, or for all changes where none is transferred. */
  movesOf(owners: readonly Address[]): readonly LogFilter[]
  /** Returns filters for all changes of these positions. */
  changesOf(ids: readonly string[]): readonly LogFilter[]
  /** Reads where positions are, so that the filters for their changes are narrow. Absent where they always are. */
  locate?(state: BlockState, ids: readonly string[]): Promise<void>
  /** Reads a position from the contract; null where it does not exist. */
  readStored(state: BlockState, id: string): Promise<StoredPosition | null>
  /** Computes the current amounts and prices of a position, in custody where one is given. */
  positionOf(state: BlockState, id: string, stored: StoredPosition, custody?: Custody): Promise<Position>
  /**
   * Computes the amounts of a change whose log doesn't tell them: of liquidity, or of fees where it changed by nothing;
   * null where the states don't tell them either. Absent where all logs do.
   */
  amountsOf?(change: UntoldChange, states: ChangeStates): Promise<Amounts | null>
}
