import { type Address, zeroAddress } from 'viem'
import { type ChainLog, keyOfLog } from '../rpc/block.ts'
import { groupBy } from '../rpc/arrays.ts'
import {
  afterHeldChange,
  type ArrivingPosition,
  type Holding,
  positionEvent,
  type PositionEvent,
  type VaultHoldings,
} from './holding.ts'
import { afterChange, newPosition } from './position-state.ts'
import type { FixedAccount, PositionChange } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'
import { type DepositRequest, DepositRequests, noRequests } from '../vaults/deposit-requests.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'

/** A position before it arrives at a vault, or `stray` for one in unknown tokens. */
export type Arrival = ArrivingPosition | 'stray'

type Move = Extract<PositionChange, { kind: 'moved' }>

/** The effects of the logs of a block on positions. */
export interface AppliedLogs {
  readonly events: PositionEvent[]
  /** The vaults that gained, lost or changed positions that count towards their value. */
  readonly touched: Set<Address>
  /** The touched vaults, and the vaults whose other positions changed, in state or number. */
  readonly changed: Set<Address>
}

/** The positions of vaults, derived from the logs of the venues. */
export class Holdings {
  readonly #held = new Map<string, Holding>()
  readonly #strays: Map<Address, number>
  /** Positions that no vault holds yet, and that arrive at a vault in the current range. */
  #arrivals = new Map<string, Arrival>()
  /** Positions whose NFTs are burned before their liquidity is withdrawn, in the same transaction. */
  readonly #burned = new Map<string, Holding>()
  readonly #requests = new Map<Address, DepositRequests>()
  /** The transfers of the current range by which contracts take positions into custody. */
  #custodyMoves: ReadonlySet<string> = new Set()

  /**
   * @param holdings the positions in known tokens
   * @param strays number of positions in unknown tokens, by vault
   */
  constructor(
    readonly venues: Venues,
    readonly kinds: VaultKinds,
    readonly vaults: ReadonlySet<Address>,
    holdings: Iterable<Holding> = [],
    strays: Iterable<readonly [Address, number]> = [],
  ) {
    for (const holding of holdings) this.#held.set(holding.id, holding)
    this.#strays = new Map(strays)
  }

  get ids(): string[] {
    return [...this.#held.keys()]
  }

  of(vault: Address): VaultHoldings {
    const held = [...this.#held.values()]
      .filter((holding) => holding.vault === vault)
      .sort(({ id: a }, { id: b }) => a.length - b.length || (a < b ? -1 : 1))
    const [foreign, positions] = [true, false].map((isForeign) =>
      held.filter((holding) => (holding.isForeign ?? false) === isForeign),
    ) as [Holding[], Holding[]]
    return {
      positions,
      strays: this.#strays.get(vault) ?? 0,
      foreign,
      requests: this.#requests.get(vault)?.snapshot() ?? noRequests,
    }
  }

  /** Adds a deposit request that a vault has logged. */
  addRequest(vault: Address, request: DepositRequest): void {
    const requests = this.#requests.get(vault) ?? new DepositRequests()
    this.#requests.set(vault, requests)
    requests.add(request)
  }

  /** The accounts that hold positions for the vaults. */
  get accounts(): Address[] {
    return [...this.vaults].flatMap((vault) => this.kinds.of(vault).accounts)
  }

  /** Returns the vault that an account holds positions for; undefined for any other account. */
  vaultOf(account: Address): Address | undefined {
    return [...this.vaults].find((vault) => this.kinds.of(vault).accounts.includes(account))
  }

  /** Sets the positions that the next logs transfer to vaults, in their state before these logs. */
  expect(arrivals: Iterable<readonly [id: string, Arrival]>): void {
    this.#arrivals = new Map(arrivals)
  }

  /** Sets the next transfers by which contracts take positions into custody: these still belong to the vault. */
  expectCustody(moves: readonly ChainLog[]): void {
    this.#custodyMoves = new Set(moves.map(keyOfLog))
  }

  /** Applies the venues' logs of a block, in order. */
  applyLogs(logs: readonly ChainLog[]): AppliedLogs {
    const applied: AppliedLogs = { events: [], touched: new Set(), changed: new Set() }
    const { events, touched, changed } = applied
    for (const ofOne of groupBy(logs, ({ txHash }) => txHash).values()) {
      const happened = ofOne.flatMap((log) => this.#applyLog(log, applied))
      events.push(...happened.map((event) => this.#toLedgerEvent(event)))
      this.#burned.clear()
    }
    for (const { vault } of events) touched.add(vault)
    for (const vault of touched) changed.add(vault)
    return applied
  }

  #applyLog(log: ChainLog, applied: AppliedLogs): PositionEvent[] {
    const change = this.venues.decodeLog(log)
    if (change === null) return []
    if (change.kind === 'moved') {
      this.#move(change, log, applied)
      return []
    }
    const burned = this.#burned.get(change.id)
    const holding = burned ?? this.#held.get(change.id) ?? this.#begin(change.id, change.account)
    if (holding === undefined) {
      const arrival = this.#arrivals.get(change.id)
      if (typeof arrival === 'object') this.#arrivals.set(change.id, { ...arrival, ...afterChange(arrival, change) })
      return []
    }
    applied.changed.add(holding.vault)
    const next = afterHeldChange(holding, change)
    if (burned === undefined) this.#held.set(holding.id, next)
    const event = positionEvent(holding, change, next, log)
    return event === null ? [] : [event]
  }

  /** Returns a position of a fixed account before its first change; undefined where the account is of no vault. */
  #begin(id: string, account: FixedAccount | undefined): Holding | undefined {
    const vault = account && this.vaultOf(account.owner)
    const state = this.#arrivals.get(id) ?? newPosition
    return vault === undefined || state === 'stray' ? undefined : { ...state, id, vault, isForeign: true }
  }

  #move(move: Move, log: ChainLog, { touched, changed }: AppliedLogs): void {
    const { id, from, to } = move
    const holding = this.#held.get(id)
    if (holding !== undefined) {
      changed.add(holding.vault)
      if (holding.isForeign !== true) touched.add(holding.vault)
      if (this.#custodyMoves.has(keyOfLog(log))) {
        this.#held.set(id, { ...holding, custody: { custodian: to, account: from } })
        return
      }
      this.#held.delete(id)
      if (to === zeroAddress) this.#burned.set(id, holding)
      const { liquidity, freed, refusal } = holding
      this.#arrivals.set(id, { liquidity, freed, ...(refusal !== undefined && { refusal }) })
    } else this.#countStray(this.vaultOf(from), -1, changed)
    const vault = this.vaultOf(to)
    if (vault === undefined) return
    const arrival: Arrival = this.#arrivals.get(id) ?? newPosition
    if (arrival === 'stray') return this.#countStray(vault, 1, changed)
    changed.add(vault)
    if (arrival.refusal === undefined) touched.add(vault)
    this.#held.set(id, { ...arrival, id, vault, isForeign: arrival.refusal !== undefined })
  }

  #countStray(vault: Address | undefined, change: number, changed: Set<Address>): void {
    if (vault === undefined) return
    this.#strays.set(vault, (this.#strays.get(vault) ?? 0) + change)
    changed.add(vault)
  }

  /** Converts an exit to a rebalance where the vault has other positions, or plants one in the same transaction. */
  #toLedgerEvent(event: PositionEvent): PositionEvent {
    return event.type === 'exit' && this.#hasLiquidity(event.vault) ? { ...event, type: 'rebalance' } : event
  }

  #hasLiquidity(of: Address): boolean {
    for (const { vault, liquidity, isForeign } of this.#held.values()) {
      if (vault === of && liquidity !== 0n && isForeign !== true) return true
    }
    return false
  }
}

/** The first arrival of a position at a vault. */
export interface FirstArrival {
  readonly vault: Address
  /** Number of the block of the arrival. */
  readonly block: number
}

/**
 * Returns the first arrivals of positions at vaults by the logs, as transfers or as new positions of a fixed account:
 * by id, in the order of the logs.
 */
export function arrivalsIn(logs: readonly ChainLog[], holdings: Holdings): Map<string, FirstArrival> {
  const held = new Set(holdings.ids)
  const found = new Map<string, FirstArrival>()
  for (const log of logs) {
    const change = holdings.venues.decodeLog(log)
    const account = change?.kind === 'moved' ? change.to : change?.account?.owner
    if (change === null || account === undefined || held.has(change.id) || found.has(change.id)) continue
    const vault = holdings.vaultOf(account)
    if (vault !== undefined) found.set(change.id, { vault, block: log.block })
  }
  return found
}
