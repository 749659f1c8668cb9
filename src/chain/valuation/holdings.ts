import { type Address, zeroAddress } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { PositionChange, Venue } from '../venues/venue.ts'

/** A position of a vault according to the logs. */
export interface Holding {
  readonly id: string
  readonly vault: Address
  /** Null for a transferred position until it is read. */
  readonly liquidity: bigint | null
  /** Withdrawn liquidity that was not collected yet: principal, not fees. */
  readonly freed: Amounts
}

/** A change of a position, as a ledger event. */
export interface PositionEvent {
  readonly vault: Address
  readonly type: 'plant' | 'rebalance' | 'harvest' | 'exit'
  readonly id: string
  /** Amounts added, withdrawn or earned. */
  readonly amounts: Amounts
  readonly log: ChainLog
}

const nothing: Amounts = [0n, 0n]

/** The positions of vaults, derived from the logs of a venue. */
export class Holdings {
  readonly #held = new Map<string, Holding>()

  constructor(
    readonly venue: Venue,
    readonly vaults: ReadonlySet<Address>,
    holdings: Iterable<Holding> = [],
  ) {
    for (const holding of holdings) this.#held.set(holding.id, holding)
  }

  get ids(): string[] {
    return [...this.#held.keys()]
  }

  /**
   * Returns the positions of a vault in ascending order of their numeric ids, because contracts list them in another
   * order.
   */
  of(vault: Address): Holding[] {
    return [...this.#held.values()]
      .filter((holding) => holding.vault === vault)
      .sort(({ id: a }, { id: b }) => a.length - b.length || (a < b ? -1 : 1))
  }

  /** Ids of the positions whose liquidity is unknown. */
  get unread(): string[] {
    return [...this.#held.values()].filter(({ liquidity }) => liquidity === null).map(({ id }) => id)
  }

  setLiquidity(id: string, liquidity: bigint): void {
    const holding = this.#held.get(id)
    if (holding !== undefined) this.#held.set(id, { ...holding, liquidity })
  }

  /**
   * Applies the venue's logs of a block, in order.
   * @returns the resulting events, and the vaults that gained, lost or changed positions
   */
  applyLogs(logs: readonly ChainLog[]): { events: PositionEvent[]; touched: Set<Address> } {
    const events: PositionEvent[] = []
    const touched = new Set<Address>()
    for (const ofOne of groupBy(logs, ({ txHash }) => txHash).values()) {
      const happened = ofOne.flatMap((log) => this.#applyLog(log, touched))
      events.push(...happened.map((event) => this.#toLedgerEvent(event)))
    }
    for (const { vault } of events) touched.add(vault)
    return { events, touched }
  }

  #applyLog(log: ChainLog, touched: Set<Address>): PositionEvent[] {
    const change = this.venue.readLog(log)
    if (change === null) return []
    if (change.kind === 'moved') {
      this.#move(change, touched)
      return []
    }
    const holding = this.#held.get(change.id)
    if (holding === undefined) return []
    const next = afterChange(holding, change)
    this.#held.set(holding.id, next)
    const type = typeOf(holding, change, next)
    const amounts = change.kind === 'collected' ? rewardsIn(holding, change.amounts) : change.amounts
    if (change.kind === 'collected' && amounts.every((amount) => amount === 0n)) return []
    return [{ vault: holding.vault, type, id: holding.id, amounts, log }]
  }

  #move({ id, from, to }: Extract<PositionChange, { kind: 'moved' }>, touched: Set<Address>): void {
    const before = this.#held.get(id)
    if (this.vaults.has(from)) touched.add(from)
    this.#held.delete(id)
    if (!this.vaults.has(to)) return
    touched.add(to)
    const minted = from === zeroAddress
    this.#held.set(id, { ...(before ?? { id, liquidity: minted ? 0n : null, freed: nothing }), vault: to })
  }

  /**
   * Turns the exit of a position into a rebalance where the vault has other positions, or plants one in the same
   * transaction.
   */
  #toLedgerEvent(event: PositionEvent): PositionEvent {
    const stands = event.type === 'exit' && this.of(event.vault).some(({ liquidity }) => liquidity !== 0n)
    return stands ? { ...event, type: 'rebalance' } : event
  }
}

function afterChange(holding: Holding, change: Exclude<PositionChange, { kind: 'moved' }>): Holding {
  if (change.kind === 'increased') return { ...holding, liquidity: sum(holding.liquidity, change.liquidity) }
  const [freed0, freed1] = holding.freed
  const [amount0, amount1] = change.amounts
  if (change.kind === 'collected')
    return { ...holding, freed: [subtractToZero(freed0, amount0), subtractToZero(freed1, amount1)] }
  return {
    ...holding,
    liquidity: sum(holding.liquidity, -change.liquidity),
    freed: [freed0 + amount0, freed1 + amount1],
  }
}

function typeOf(before: Holding, change: PositionChange, after: Holding): PositionEvent['type'] {
  if (change.kind === 'collected') return 'harvest'
  if (change.kind === 'increased') return before.liquidity === 0n ? 'plant' : 'rebalance'
  return after.liquidity === 0n ? 'exit' : 'rebalance'
}

/** Returns the fees in a collected amount: principal is paid first. */
function rewardsIn({ freed }: Holding, [amount0, amount1]: Amounts): Amounts {
  return [subtractToZero(amount0, freed[0]), subtractToZero(amount1, freed[1])]
}

function sum(liquidity: bigint | null, change: bigint): bigint | null {
  return liquidity === null ? null : liquidity + change
}

/** Subtracts amounts, with 0 as the minimum. */
export function subtractToZero(from: bigint, amount: bigint): bigint {
  return from > amount ? from - amount : 0n
}
