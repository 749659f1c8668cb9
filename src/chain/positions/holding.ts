import type { Address } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import type { RequestSnapshot } from '../vaults/deposit-requests.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { Custody, PositionChange, StoredPosition } from '../venues/venue.ts'
import { afterChange, feesIn, type PositionState } from './position-state.ts'

/** A position before it arrives at a vault. */
export interface ArrivingPosition extends PositionState, Pick<StoredPosition, 'refusal'> {}

/** A position of a vault according to the logs. */
export interface Holding extends ArrivingPosition {
  readonly id: string
  readonly vault: Address
  /**
   * Whether the position is refused, or was created in the vault's name by somebody else (also in a range that the
   * vault has left), and is unchanged by the vault since. Anyone can create such a position, and the vault may never
   * withdraw it.
   */
  readonly isForeign?: boolean
  /** The custody, where a contract holds the position for the vault. */
  readonly custody?: Custody
}

/** The positions of one vault. */
export interface VaultHoldings {
  /** In ascending order of their numeric ids, because contracts list them in another order. */
  readonly positions: readonly Holding[]
  /** Number of positions in unknown tokens, which are only counted: anyone can transfer them to a vault. */
  readonly strays: number
  /** Positions that somebody else created in the vault's name, or that are refused. */
  readonly foreign: readonly Holding[]
  /** The deposit requests to the vault. */
  readonly requests: RequestSnapshot
}

/** A change of a position, as a ledger event. */
export interface PositionEvent extends Pick<StoredPosition, 'refusal'> {
  readonly vault: Address
  readonly type: 'plant' | 'rebalance' | 'harvest' | 'exit'
  readonly id: string
  /** Amounts added, withdrawn or earned; null where the log does not contain them. */
  readonly amounts: Amounts | null
  readonly log: ChainLog
}

type StateChange = Exclude<PositionChange, { kind: 'moved' }>

/** Returns a vault's position after a change. */
export function afterHeldChange(holding: Holding, change: StateChange): Holding {
  // Only its holder removes liquidity from an NFT; adding liquidity to an empty one is part of its creation, by anyone.
  const isByVault = change.account?.isByOwner ?? holding.liquidity > 0n
  const isForeign = !isByVault && (holding.isForeign === true || isBegunAgain(holding, change))
  return { ...holding, ...afterChange(holding, change), isForeign }
}

/** Returns whether a change adds to an empty position in a pool, which then counts as new. */
function isBegunAgain({ liquidity, freed }: Holding, { account }: StateChange): boolean {
  return account !== undefined && liquidity === 0n && freed.every((amount) => amount === 0n)
}

/** Returns the ledger event of a change; null where the position is foreign, or the change has no effect. */
export function positionEvent(
  before: Holding,
  change: StateChange,
  after: Holding,
  log: ChainLog,
): PositionEvent | null {
  if (after.isForeign === true || isNothing(before, change)) return null
  const { vault, id, refusal } = before
  const type = typeOf(before, change, after)
  return { vault, type, id, amounts: amountsIn(before, change), log, ...(refusal !== undefined && { refusal }) }
}

function amountsIn(before: Holding, change: StateChange): Amounts | null {
  if (change.kind === 'modified') return null
  return change.kind === 'collected' ? feesIn(change.amounts, before) : change.amounts
}

function isNothing(before: Holding, change: StateChange): boolean {
  if (change.kind === 'collected') return feesIn(change.amounts, before).every((amount) => amount === 0n)
  // A change of zero liquidity only credits fees, which count already; `modified` also pays them: a harvest.
  return change.kind !== 'modified' && change.liquidity === 0n
}

function typeOf(before: Holding, change: StateChange, after: PositionState): PositionEvent['type'] {
  if (change.kind === 'collected' || change.liquidity === 0n) return 'harvest'
  const isNew = before.liquidity === 0n || before.isForeign === true
  if (change.kind === 'increased' || after.liquidity > before.liquidity) return isNew ? 'plant' : 'rebalance'
  return after.liquidity === 0n ? 'exit' : 'rebalance'
}
