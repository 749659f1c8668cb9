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
  /** Fees that the vault has paid, or owes from now on. */
  | { readonly kind: 'charged'; readonly amounts: readonly bigint[] }
  /** Earnings of which the vault pays a part as fees, which the log does not contain. */
  | { readonly kind: 'earned'; readonly amounts: readonly bigint[] }
  /** A deposit request, whose assets are not capital of the vault yet. */
  | { readonly kind: 'requested'; readonly request: DepositRequest }
  | { readonly kind: 'minted'; readonly to: Address; readonly shares: bigint }
  | { readonly kind: 'owned'; readonly owner: Address }
  | { readonly kind: 'paused'; readonly by: string }
  | { readonly kind: 'unpaused' }

/** The owner of a vault, and the tokens in which its capital is deposited and withdrawn. */
export interface VaultTerms {
  readonly owner: Address
  readonly assets: readonly Address[]
  /** Other tokens in which the vault pays fees. */
  readonly feeTokens?: readonly Address[]
}

/** The contracts and accounts that hold a vault's funds. */
export interface VaultPlaces {
  /** The accounts that hold tokens and positions for the vault. */
  readonly accounts: readonly Address[]
  /** The pools in which these accounts hold positions directly. */
  readonly pools: readonly Address[]
  /** The contracts besides the vault that emit logs about it. */
  readonly emitters?: readonly Address[]
}

/** An amount of a token in its smallest units. */
export interface TokenAmount {
  readonly token: Address
  readonly units: bigint
}

/** The total of a vault's holdings that its contract reports. */
export interface VaultTotals {
  readonly pool: Address
  readonly amounts: readonly [TokenAmount, TokenAmount]
  /** Returns the part of a position's credited amount that the total includes. */
  readonly creditedPart: (units: bigint) => bigint
  /** The ranges of the positions that the total includes. */
  readonly ranges: readonly TickRange[]
}

/** The vault's own report of its holdings. */
export interface VaultStatement {
  /** Amounts in the vault's balances that belong to others. */
  readonly debts: readonly TokenAmount[]
  /** Null where the kind of vault reports no total. */
  readonly totals: VaultTotals | null
}

/** A kind of vault: decodes its logs, and reads its owner, assets and fees. */
export interface VaultAdapter {
  readonly name: string
  /** First topics of the vault's logs, without transfers that mint shares. */
  readonly topics: readonly Hex[]
  /** Whether the vault can pay fees in new shares. */
  readonly mintsFees: boolean
  /** Returns whether a vault answers as one of this kind. */
  fits(state: BlockState, vault: Address): Promise<boolean>
  /**
   * Decodes a log; null where it is not an event of this kind of vault.
   * @throws {ContractMismatch} when the topic matches, but the contents do not
   */
  decodeLog(log: ChainLog): VaultChange | null
  /**
   * Reads the owner and assets.
   * @throws {ContractMismatch} when the vault does not answer as its kind requires
   */
  readTerms(state: BlockState, vault: Address): Promise<VaultTerms>
  /** Reads only the assets, in the order of the amounts in logs. */
  readAssets(state: BlockState, vault: Address): Promise<readonly Address[]>
  /** Reads the accounts, pools and emitters of a vault, which never change. */
  readPlaces(state: BlockState, vault: Address): Promise<VaultPlaces>
  /** @param requests deposit requests up to the block */
  readStatement(state: BlockState, vault: Address, requests: RequestSnapshot): Promise<VaultStatement>
  /** Returns the fees that the vault pays on logged earnings; null where it pays none. */
  readFees(state: BlockState, vault: Address, earned: readonly bigint[]): Promise<readonly TokenAmount[] | null>
}

/** An empty statement. */
export const noStatement: VaultStatement = { debts: [], totals: null }

/** Pairs two amounts with two tokens. */
export function pairAmounts([token0, token1]: readonly [Address, Address], [units0, units1]: Amounts) {
  return [
    { token: token0, units: units0 },
    { token: token1, units: units1 },
  ] as const
}
