import type { RecordedDay, RecordedPoint } from '../../database/write/equity.ts'
import type { RecordedEvent } from '../../database/write/ledger.ts'
import type { RecordedPosition } from '../../database/write/position.ts'
import type { RecordedStrategy } from '../../database/write/strategy.ts'
import type { RecordedScreen } from '../../database/write/universe.ts'
import { largeOwnerVaults } from '../../database/write/vault-tally.ts'
import type { VaultRecord } from '../../database/write/vault.ts'
import { zero } from '../../domain/decimal.ts'
import { revalue } from '../../domain/flows.ts'
import type { NewestTallies } from '../../domain/ledger.ts'
import { isInRange } from '../../domain/position.ts'
import { newVault, requireStorable, setPositions, statusOf, type VaultStatus } from '../../domain/vault.ts'
import { ConflictingFact, OutOfOrder, UnknownStrategy, UnknownVault } from '../errors.ts'
import type { EventFact, Fact, MarkFact, ScreenFact, StrategyFact, VaultFact } from '../fact/fact.ts'
import { identityOf } from '../fact/identity.ts'
import { afterEvent, valuation } from './after-event.ts'
import { LedgerTallies } from './ledger-tallies.ts'

/** The stored state that a batch of facts refers to. */
export interface KnownState {
  /** Ids of all strategies. */
  readonly strategies: Set<string>
  readonly vaults: Map<string, VaultRecord>
  /** Number of vaults of owners that open some, those aside that were opened when it was large. */
  readonly smallVaults: Map<string, number>
  /** The newest tallies of the ledgers that events are for, by vault. */
  readonly tallies: Map<string, NewestTallies>
  /** Digests of known facts, by identity. */
  readonly digests: Map<string, string>
}

/** Changes of a batch of facts. */
export interface Changes {
  readonly strategies: RecordedStrategy[]
  readonly screens: RecordedScreen[]
  readonly opened: Set<string>
  /** Changed vaults with the status that they had before; null for those that were opened. */
  readonly touched: Map<string, VaultStatus | null>
  /** Vaults whose benchmark a flow has changed. */
  readonly moved: Set<string>
  readonly points: Map<string, RecordedPoint>
  /** Number of points before the batch, for vaults with new ones. */
  readonly pointsBefore: Map<string, number>
  readonly days: Map<string, RecordedDay>
  readonly events: RecordedEvent[]
  readonly positions: Map<string, readonly RecordedPosition[]>
}

/** Applies facts in order by the rules of the domain. A rejected fact changes nothing. */
export class Projection {
  readonly changes: Changes = {
    strategies: [],
    screens: [],
    opened: new Set(),
    touched: new Map(),
    moved: new Set(),
    points: new Map(),
    pointsBefore: new Map(),
    days: new Map(),
    events: [],
    positions: new Map(),
  }

  readonly tallies: LedgerTallies

  constructor(readonly known: KnownState) {
    this.tallies = new LedgerTallies(known.tallies)
  }

  /**
   * Applies one fact.
   * @returns false where it is known, and so changes nothing
   * @throws {DomainError} when it breaks a rule or contradicts stored state
   */
  apply(fact: Fact, digest: string): boolean {
    const identity = identityOf(fact)
    const knownDigest = this.known.digests.get(identity)
    if (knownDigest === digest) return false
    if (knownDigest !== undefined) throw new ConflictingFact(identifyingKey[fact.kind], identity)
    this.#applyNew(fact, digest)
    this.known.digests.set(identity, digest)
    return true
  }

  #applyNew(fact: Fact, digest: string): void {
    switch (fact.kind) {
      case 'strategy':
        return this.#publish(fact, digest)
      case 'screen':
        return this.#screen(fact, digest)
      case 'vault':
        return this.#open(fact, digest)
      case 'mark':
        return this.#mark(fact, digest)
      case 'event':
        return this.#event(fact, digest)
    }
  }

  #publish({ kind: _, ...strategy }: StrategyFact, digest: string): void {
    this.known.strategies.add(strategy.id)
    this.changes.strategies.push({ ...strategy, digest })
  }

  #screen({ kind: _, ...screen }: ScreenFact, digest: string): void {
    const unknown = Object.keys(screen.strategies).find((id) => !this.known.strategies.has(id))
    if (unknown !== undefined) throw new UnknownStrategy(`strategies.${unknown}`, unknown)
    this.changes.screens.push({ ...screen, digest })
  }

  #open({ vault: address, owner, strategy, ts }: VaultFact, digest: string): void {
    if (!this.known.strategies.has(strategy)) throw new UnknownStrategy('strategy', strategy)
    this.changes.opened.add(address)
    const smallVaults = this.known.smallVaults.get(owner) ?? 0
    const ownerIsLarge = smallVaults >= largeOwnerVaults
    if (!ownerIsLarge) this.known.smallVaults.set(owner, smallVaults + 1)
    this.#keep({
      address,
      owner,
      strategyId: strategy,
      openedAt: ts,
      digest,
      state: newVault,
      fees: { contributedUsd: zero, withdrawnUsd: zero, taxedUsd: zero, highWaterUsd: zero },
      equityAt: null,
      pointCount: 0,
      ledgerBlock: null,
      ledgerInOrder: true,
      updatedAt: ts,
      ownerIsLarge,
    })
  }

  #mark(fact: MarkFact, digest: string): void {
    const vault = this.#vaultOf(fact)
    const positions = fact.positions.map(({ ticks, ...position }) => ({ ...position, ticks: ticks ?? null }))
    const outOfRange = positions.filter(({ range, ticks }) => !isInRange(range, ticks)).length
    const valued = revalue(vault.state, valuation(fact.ts, fact.valueUsd, fact.prices))
    const state = requireStorable(setPositions(valued, { open: positions.length, outOfRange }), 'valueUsd')
    this.changes.positions.set(vault.address, positions)
    this.#record({ ...vault, state, fees: fact.fees ?? vault.fees, updatedAt: fact.ts }, digest)
  }

  #event(fact: EventFact, digest: string): void {
    const vault = this.#vaultOf(fact)
    const state = afterEvent(vault.state, fact)
    const isFlow = fact.type === 'deposit' || fact.type === 'withdraw'
    const newestBlock = vault.ledgerBlock ?? 0
    const after: VaultRecord = {
      ...vault,
      state,
      ledgerBlock: Math.max(newestBlock, fact.block),
      ledgerInOrder: vault.ledgerInOrder && fact.block >= newestBlock,
      updatedAt: fact.ts,
    }
    if (isFlow) this.changes.moved.add(vault.address)
    if (isFlow) this.#record(after, null)
    else this.#keep(after)
    this.tallies.add(vault.address, fact.ts, fact.type)
    this.changes.events.push({
      vault: vault.address,
      txHash: fact.txHash,
      logIndex: fact.logIndex,
      block: fact.block,
      ts: fact.ts,
      type: fact.type,
      amountUsd: ('amountUsd' in fact ? fact.amountUsd : undefined) ?? null,
      positionId: 'positionId' in fact ? fact.positionId : null,
      reason: 'reason' in fact ? fact.reason : null,
      digest,
    })
  }

  #vaultOf({ vault: address, ts }: MarkFact | EventFact): VaultRecord {
    const vault = this.known.vaults.get(address)
    if (vault === undefined) throw new UnknownVault(address)
    if (ts < vault.updatedAt) throw new OutOfOrder(ts, vault.updatedAt)
    return vault
  }

  #keep(vault: VaultRecord): void {
    const { touched } = this.changes
    const before = this.known.vaults.get(vault.address)
    if (!touched.has(vault.address)) touched.set(vault.address, before === undefined ? null : statusOf(before.state))
    this.known.vaults.set(vault.address, vault)
  }

  /**
   * Keeps the state of a vault after a flow or mark, with its equity point. The last point of a second replaces the
   * others.
   */
  #record(vault: VaultRecord, markDigest: string | null): void {
    const { address, state, pointCount, updatedAt: ts } = vault
    const { points, pointsBefore, days } = this.changes
    if (!pointsBefore.has(address)) pointsBefore.set(address, pointCount)
    this.#keep({ ...vault, equityAt: ts, pointCount: vault.equityAt === ts ? pointCount : pointCount + 1 })
    const key = `${address} ${ts}`
    points.set(key, { vault: address, ts, state, markDigest: markDigest ?? points.get(key)?.markDigest ?? null })
    if (state.day !== null) {
      days.set(`${address} ${state.day.day}`, { vault: address, day: state.day, endUsd: state.valueUsd })
    }
  }
}

/** The key to report where a known identity has other contents. */
const identifyingKey = { strategy: 'ts', screen: 'ts', vault: 'vault', mark: 'ts', event: 'logIndex' } as const
