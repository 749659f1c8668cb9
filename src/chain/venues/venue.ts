import type { Address, Hex } from 'viem'
import type { Decimal } from '../../domain/decimal.ts'
import type { ChainLog, Header } from '../rpc/block.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts, TickRange } from './liquidity-math.ts'

/** Protocol of a pool, as stated in marks. */
export type PoolProtocol = 'uniswap-v3' | 'uniswap-v4' | 'pancakeswap-v3' | 'slipstream'

/** A contract that holds a position, and the account that transferred the position to it. */
export interface Custody {
  readonly custodian: Address
  readonly account: Address
}

/** The account of a position that cannot be transferred, and whether that account made a change. */
export interface FixedAccount {
  readonly owner: Address
  /** Whether the owner made the change: anyone can add liquidity for anyone. */
  readonly isByOwner: boolean
}

interface Change {
  readonly id: string
  /** Absent for transferable positions. */
  readonly account?: FixedAccount
}

/** A change of a position that a log reports. */
export type PositionChange =
  | (Change & { readonly kind: 'moved'; readonly from: Address; readonly to: Address })
  | (Change & { readonly kind: 'increased' | 'decreased'; readonly liquidity: bigint; readonly amounts: Amounts })
  | (Change & { readonly kind: 'collected'; readonly amounts: Amounts })
  /** Added liquidity, or removed where negative, or 0; pays all fees. The log contains no amounts. */
  | (Change & { readonly kind: 'modified'; readonly liquidity: bigint })

/** A change whose log contains no amounts. */
export interface UnloggedChange {
  readonly id: string
  readonly log: ChainLog
}

/** The block of a change, and the states before and after it. */
export interface ChangeStates {
  readonly block: Header
  readonly before: BlockState
  readonly after: BlockState
}

/** The immutable terms of a position. */
export interface PositionTerms {
  readonly token0: Address
  readonly token1: Address
  /** In hundredths of a basis point; for Slipstream's NFTs the tick spacing, which their manager stores instead. */
  readonly feeTier: number
  readonly ticks: TickRange
}

/** A position as the venue's contract stores it. Amounts are in smallest units of token0 and token1. */
export interface StoredPosition extends PositionTerms {
  readonly liquidity: bigint
  /** Uncollected amounts that were credited: fees and withdrawn liquidity. */
  readonly credited: Amounts
  /** Fee growth inside the range up to which fees were credited, times 2^128. */
  readonly growthCounted: Amounts
  /** Why the position's payments are unknown, as a predicate of its vault; absent where they are known. */
  readonly refusal?: string
}

/** An account of a venue from which uncollected amounts are paid. */
export interface PayingAccount {
  readonly key: string
  /** Maximum amounts that collecting from this position could pay. */
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
  /** Amounts that withdrawing the liquidity would pay out. */
  readonly amounts: Amounts
  /** Fees that are earned but not credited yet. */
  readonly accrued: Amounts
  /** The account from which the venue pays credited and accrued amounts, which several positions can share. */
  readonly account: PayingAccount
  /** Rewards besides fees that the custodian would pay; null where there are none. */
  readonly emissions: TokenUnits | null
  readonly currentTick: number
  /** Units of token1 for one of token0, in smallest units. */
  readonly prices: { readonly lower: Decimal; readonly upper: Decimal; readonly current: Decimal }
}

/** A venue's list of the positions of each account. */
export interface PositionList {
  /** Reads the number of positions of an owner. */
  count(state: BlockState, owner: Address): Promise<number>
  /**
   * Reads the id of a position of an owner, by its index in a list whose order changes. Absent where the contract only
   * counts positions, so that logs must identify them.
   */
  idAt?(state: BlockState, owner: Address, index: number): Promise<string>
  /** Returns filters for the transfers that create these positions. */
  creationsOf(ids: readonly string[]): readonly LogFilter[]
}

/** Contracts that take a venue's positions into custody for the account that transferred them. */
export interface PositionCustody {
  /** Reads the contract that may take a position into custody; null where either does not exist. */
  custodianOf(state: BlockState, id: string): Promise<Address | null>
  /** Returns whether a position is in custody for an account. */
  isHeld(state: BlockState, id: string, custody: Custody): Promise<boolean>
}

/** A protocol that holds liquidity as positions, with the functions that the reader needs. */
export interface Venue {
  /** Description of the venue's positions. */
  readonly name: string
  /** Absent where only logs identify the positions of an account. */
  readonly list?: PositionList
  /** Absent where positions are not taken into custody. */
  readonly custody?: PositionCustody
  /** The contracts that emit the logs about positions. */
  readonly contracts: readonly Address[]
  /** First topics of the logs about positions. */
  readonly topics: readonly Hex[]
  /** Returns whether a position belongs to this venue, by the form of its id. */
  has(id: string): boolean
  /** Decodes a log of the contracts; null where it is not about a position. */
  decodeLog(log: ChainLog): PositionChange | null
  /** Returns filters for transfers of positions from or to these owners; for all changes if not transferable. */
  movesOf(owners: readonly Address[]): readonly LogFilter[]
  /** Returns filters for all changes of these positions. */
  changesOf(ids: readonly string[]): readonly LogFilter[]
  /** Reads the pools of positions, to narrow the filters for changes; absent where these are always narrow. */
  locate?(state: BlockState, ids: readonly string[]): Promise<void>
  /** Reads a position from the contract; null where it does not exist. */
  readStored(state: BlockState, id: string): Promise<StoredPosition | null>
  /** Computes the current amounts and prices of a position, which may be in custody. */
  positionOf(state: BlockState, id: string, stored: StoredPosition, custody?: Custody): Promise<Position>
  /**
   * Computes the amounts of a change whose log does not contain them: of liquidity, or the fees of a change by zero.
   * Null where the states do not reveal them. Absent where all logs contain amounts.
   */
  amountsOf?(change: UnloggedChange, states: ChangeStates): Promise<Amounts | null>
}
