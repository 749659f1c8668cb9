import type { Address, Hex } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Amounts, TickRange } from '../venues/liquidity-math.ts'
import type { DepositRequest, RequestSnapshot } from './deposit-requests.ts'

/** A change that a vault's log reports. Amounts are in smallest units, one for each of the vault's assets. */
export type VaultChange =
  | {
      readonly kind: 'deposited'
      readonly amounts: readonly bigint[]
      readonly owner: Address
      readonly shares: bigint
    }
  | { readonly kind: 'withdrawn'; readonly amounts: readonly bigint[]; readonly shares: bigint }
  /** Fees that the vault has paid, or owes from then on. */
  | { readonly kind: 'charged'; readonly amounts: readonly bigint[] }
  /** Earnings of which the vault pays a part as fees; the log doesn't say which. */
  | { readonly kind: 'earned'; readonly amounts: readonly bigint[] }
  /** Assets that somebody has asked the vault to take as capital, which it has not yet. */
  | { readonly kind: 'requested'; readonly request: DepositRequest }
  | { readonly kind: 'minted'; readonly to: Address; readonly shares: bigint }
  | { readonly kind: 'owned'; readonly owner: Address }
  | { readonly kind: 'paused'; readonly by: string }
  | { readonly kind: 'unpaused' }

/** The owner of a vault, and the tokens that come and go as its capital. */
export interface VaultTerms {
  readonly owner: Address
  readonly assets: readonly Address[]
  /** Other tokens in which it pays fees. */
  readonly feeTokens?: readonly Address[]
}

/** Where a vault holds its funds. */
export interface VaultPlaces {
  /** The accounts that hold tokens and positions for it. */
  readonly accounts: readonly Address[]
  /** The pools in which these accounts hold positions themselves. */
  readonly pools: readonly Address[]
  /** The contracts beside the vault that emit logs about it. */
  readonly emitters?: readonly Address[]
}

/** An amount of a token in its smallest units. */
export interface TokenAmount {
  readonly token: Address
  readonly units: bigint
}

/** The sum of all that a vault holds, as its contract tells it. */
export interface VaultTotals {
  readonly pool: Address
  readonly amounts: readonly [TokenAmount, TokenAmount]
  /** Returns the part of a position's credited amount that it counts. */
  readonly creditedPart: (units: bigint) => bigint
  /** The ranges of the positions that it counts. */
  readonly ranges: readonly TickRange[]
}

/** A vault's own words about what it holds. */
export interface VaultStatement {
  /** Amounts among its balances that belong to others. */
  readonly debts: readonly TokenAmount[]
  /** Null where the kind of vault has no such sum. */
  readonly totals: VaultTotals | null
}

/** A kind of vault: how capital comes and goes, who owns it, what suspends it, and what its fees are. */
export interface VaultAdapter {
  readonly name: string
  /** First topics of its logs, without those of new shares. */
  readonly topics: readonly Hex[]
  /** Whether its fees can be new shares. */
  readonly mintsFees: boolean
  /** Tells whether a vault answers as one of this kind. */
  fits(state: BlockState, vault: Address): Promise<boolean>
  /**
   * Decodes a log; null where it is none of the kind's events.
   * @throws {ContractMismatch} when it has the topic of one, but other contents
   */
  readLog(log: ChainLog): VaultChange | null
  /**
   * Reads the owner and assets.
   * @throws {ContractMismatch} when it does not answer as its kind requires
   */
  readTerms(state: BlockState, vault: Address): Promise<VaultTerms>
  /** Reads the assets alone, in the order in which logs tell their amounts. */
  readAssets(state: BlockState, vault: Address): Promise<readonly Address[]>
  /** Reads where it holds its funds, which never changes. */
  readPlaces(state: BlockState, vault: Address): Promise<VaultPlaces>
  /** @param requests those to deposit up to the block */
  readStatement(state: BlockState, vault: Address, requests: RequestSnapshot): Promise<VaultStatement>
  /** Returns the fees that the vault pays of earnings, as its log tells these; null where it pays none. */
  readFees(state: BlockState, vault: Address, earned: readonly bigint[]): Promise<readonly TokenAmount[] | null>
}

/** A statement of a vault that says nothing. */
export const noStatement: VaultStatement = { debts: [], totals: null }

/** Returns two amounts as those of two tokens. */
export function pairAmounts([token0, token1]: readonly [Address, Address], [units0, units1]: Amounts) {
  return [
    { token: token0, units: units0 },
    { token: token1, units: units1 },
  ] as const
}
