import { type Address, zeroAddress } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { PositionChange, Venue } from '../venues/venue.ts'

/** A position of a vault, as far as the logs tell. */
export interface Holding {
  readonly id: string
  readonly vault: Address
  /** Null for one that came from elsewhere, until it is read. */
  readonly liquidity: bigint | null
  /** Liquidity that was taken out and not collected yet: principal, not reward. */
  readonly freed: Amounts
}

/** What happened to a vault's position, as the ledger calls it. */
export interface PositionEvent {
  readonly vault: Address
  readonly type: 'plant' | 'rebalance' | 'harvest' | 'exit'
  readonly id: string
  /** What was added, taken out, or earned. */
  readonly amounts: Amounts
  readonly log: ChainLog
}

const nothing: Amounts = [0n, 0n]

/** The positions of vaults, followed through the logs of a venue in their order. */
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

  /** In the order of their ids, which are numbers: contracts list them in another order than they came in. */
  of(vault: Address): Holding[] {
    return [...this.#held.values()]
      .filter((holding) => holding.vault === vault)
      .sort(({ id: a }, { id: b }) => a.length - b.length || (a < b ? -1 : 1))
  }

  /** Those whose liquidity isn't known yet. */
  get unread(): string[] {
    return [...this.#held.values()].filter(({ liquidity }) => liquidity === null).map(({ id }) => id)
  }

  setLiquidity(id: string, liquidity: bigint): void {
    const holding = this.#held.get(id)
    if (holding !== undefined) this.#held.set(id, { ...holding, liquidity })
  }

  /**
   * Takes the venue's logs of a block, in their order.
   * @returns what they mean to the vaults, and the vaults whose positions came or went
   */
  take(logs: readonly ChainLog[]): { events: PositionEvent[]; touched: Set<Address> } {
    const events: PositionEvent[] = []
    const touched = new Set<Address>()
    for (const ofOne of groupBy(logs, ({ txHash }) => txHash).values()) {
      const happened = ofOne.flatMap((log) => this.#takeOne(log, touched))
      events.push(...happened.map((event) => this.#asLedger(event)))
    }
    for (const { vault } of events) touched.add(vault)
    return { events, touched }
  }

  #takeOne(log: ChainLog, touched: Set<Address>): PositionEvent[] {
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

  /** A position that is closed while others stand, or are planted in the same transaction, was only moved. */
  #asLedger(event: PositionEvent): PositionEvent {
    const stands = event.type === 'exit' && this.of(event.vault).some(({ liquidity }) => liquidity !== 0n)
    return stands ? { ...event, type: 'rebalance' } : event
  }
}

function afterChange(holding: Holding, change: Exclude<PositionChange, { kind: 'moved' }>): Holding {
  if (change.kind === 'increased') return { ...holding, liquidity: sum(holding.liquidity, change.liquidity) }
  const [freed0, freed1] = holding.freed
  const [amount0, amount1] = change.amounts
  if (change.kind === 'collected') return { ...holding, freed: [less(freed0, amount0), less(freed1, amount1)] }
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

/** What is collected pays principal first. */
function rewardsIn({ freed }: Holding, [amount0, amount1]: Amounts): Amounts {
  return [less(amount0, freed[0]), less(amount1, freed[1])]
}

function sum(liquidity: bigint | null, change: bigint): bigint | null {
  return liquidity === null ? null : liquidity + change
}

/** What is left of an amount, at least nothing. */
export function less(from: bigint, amount: bigint): bigint {
  return from > amount ? from - amount : 0n
}
