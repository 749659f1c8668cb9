import type { RecordedPosition } from '../../database/write/position.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import { WriteConflict } from '../../database/errors.ts'
import { chargeFee, feesAfter, noFees } from '../../domain/fees.ts'
import { newVault } from '../../domain/vault.ts'
import { ConflictingFact, OutOfOrder, UnknownStrategy, UnknownVault } from '../errors.ts'
import type { EventFact, Fact, MarkFact, OwnerFact, ScreenFact, StrategyFact, VaultFact } from '../fact/fact.ts'
import { identityOf } from '../fact/identity.ts'
import { afterEvent, feesAfterMark, markedVault, stateAfterMark } from './after-fact.ts'
import { type Changes, countedBy, identifyingKey, type BatchState, noChanges } from './changes.ts'
import { recordFactInHistory, recordMarkInHistory } from './history.ts'
import { LedgerTallies } from './ledger-tallies.ts'
import { addedMark, addPoint, noSeriesChanges, pointCountAfter } from './series.ts'

/** Applies facts in order by the rules of the domain. A rejected fact changes nothing. */
export class Projection {
  readonly changes: Changes = noChanges()

  readonly tallies: LedgerTallies

  constructor(readonly state: BatchState) {
    this.tallies = new LedgerTallies(state.tallies)
  }

  /** Returns whether a fact with these contents is known. */
  isKnown(fact: Fact, digest: string): boolean {
    return this.#knownDigest(fact) === digest
  }

  /**
   * Applies one fact.
   * @returns whether anything changed: true for a new fact, and for a known vault to which its chain is added
   * @throws {DomainError} when it breaks a rule or contradicts stored state
   */
  apply(fact: Fact, digest: string): boolean {
    const knownDigest = this.#knownDigest(fact)
    if (knownDigest === digest) return fact.kind === 'vault' && this.#addChain(fact)
    if (knownDigest !== undefined) throw new ConflictingFact(identifyingKey[fact.kind], identityOf(fact))
    this.#applyNew(fact, digest)
    if (fact.kind !== 'mark') this.state.digests.set(identityOf(fact), digest)
    return true
  }

  /** Returns the digest of the known fact with this identity; undefined where there is none, as for marks newer than all points. */
  #knownDigest(fact: Fact): string | undefined {
    if (fact.kind !== 'mark') return this.state.digests.get(identityOf(fact))
    const { vault, ts } = fact
    if (ts > (this.state.vaults.get(vault)?.equityAt ?? -1)) return undefined
    return this.state.digests.get(identityOf(fact)) ?? addedMark(this.changes.series.get(vault), ts)
  }

  #applyNew(fact: Fact, digest: string): void {
    switch (fact.kind) {
      case 'strategy':
        return this.#publish(fact, digest)
      case 'screen':
        return this.#screen(fact, digest)
      case 'vault':
        return this.#open(fact, digest)
      case 'owner':
        return this.#changeOwner(fact, digest)
      case 'mark':
        return this.#mark(fact, digest)
      case 'event':
        return this.#event(fact, digest)
    }
  }

  #publish({ kind: _, ...strategy }: StrategyFact, digest: string): void {
    this.state.strategies.add(strategy.id)
    this.changes.strategies.push({ ...strategy, digest })
  }

  #screen({ kind: _, ...screen }: ScreenFact, digest: string): void {
    const unknown = Object.keys(screen.strategies).find((id) => !this.state.strategies.has(id))
    if (unknown !== undefined) throw new UnknownStrategy(`strategies.${unknown}`, unknown)
    this.changes.screens.push({ ...screen, digest })
  }

  #open({ vault: address, owner, strategy, ts, chainId }: VaultFact, digest: string): void {
    if (!this.state.strategies.has(strategy)) throw new UnknownStrategy('strategy', strategy)
    const id = this.state.newIds.get(address)
    // A stored vault gets no id: it was stored between the read of known vaults and the reservation.
    if (id === undefined) throw new WriteConflict('another writer has opened the vault')
    this.changes.opened.add(address)
    this.changes.owners.set(`${address} ${ts}`, { vaultId: id, ts, owner, digest: null })
    this.#replaceVault({
      id,
      address,
      owner,
      chainId: chainId ?? null,
      strategyId: strategy,
      openedAt: ts,
      digest,
      state: newVault,
      fees: noFees,
      equityAt: null,
      pointCount: 0,
      ledgerBlock: null,
      ledgerInOrder: true,
      updatedAt: ts,
      ownerIsLarge: this.state.ownerSizes.add(owner),
      history: { since: ts, markedAt: null, changedAt: null, layoutDigest: null },
    })
  }

  /** Records the chain of a known vault whose fact had none before. */
  #addChain(fact: VaultFact): boolean {
    const { vault: address, chainId } = fact
    const vault = this.state.vaults.get(address)
    if (vault === undefined || chainId === undefined || vault.chainId === chainId) return false
    if (vault.chainId !== null) throw new ConflictingFact(identifyingKey.vault, identityOf(fact))
    this.#replaceVault({ ...vault, chainId })
    return true
  }

  #changeOwner(fact: OwnerFact, digest: string): void {
    const { ts, owner } = fact
    const vault = this.#vaultOf(fact)
    this.changes.owners.set(`${vault.address} ${ts}`, { vaultId: vault.id, ts, owner, digest })
    this.#replaceVault({ ...vault, owner, ownerIsLarge: this.state.ownerSizes.move(vault, owner), updatedAt: ts })
  }

  #mark(fact: MarkFact, digest: string): void {
    const vault = this.#vaultOf(fact)
    const { ts, positions } = fact
    const state = stateAfterMark(vault.state, fact)
    const fees = feesAfterMark(vault.fees, state, fact)
    const history = recordMarkInHistory(vault, ts, positions, this.changes.positions.get(vault.id), this.changes)
    this.changes.positions.set(vault.id, positions)
    const marked = markedVault(vault, ts, { state, fees, history })
    this.#replaceVaultAndAddPoint(recordFactInHistory(vault, marked, true, this.changes), { digest, positions })
  }

  #event(fact: EventFact, digest: string): void {
    const vault = this.#vaultOf(fact)
    const state = afterEvent(vault.state, fact)
    const isFlow = fact.type === 'deposit' || fact.type === 'withdraw'
    const newestBlock = vault.ledgerBlock ?? 0
    const fees = fact.type === 'fee' ? chargeFee(vault.fees, fact.amountUsd) : vault.fees
    const after: VaultRecord = {
      ...vault,
      equityAt: isFlow ? fact.ts : vault.equityAt,
      pointCount: isFlow ? pointCountAfter(vault, fact.ts) : vault.pointCount,
      state,
      fees: isFlow ? feesAfter(fees, state) : fees,
      ledgerBlock: Math.max(newestBlock, fact.block),
      ledgerInOrder: vault.ledgerInOrder && fact.block >= newestBlock,
      updatedAt: fact.ts,
    }
    if (isFlow) this.changes.benchmarkChanged.add(vault.address)
    const recorded = recordFactInHistory(vault, after, isFlow, this.changes)
    if (isFlow) this.#replaceVaultAndAddPoint(recorded, null)
    else this.#replaceVault(recorded)
    this.tallies.add(vault, fact.ts, fact.type)
    this.changes.events.push({
      vaultId: vault.id,
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

  #vaultOf({ vault: address, ts }: OwnerFact | MarkFact | EventFact): VaultRecord {
    const vault = this.state.vaults.get(address)
    if (vault === undefined) throw new UnknownVault(address)
    if (ts < vault.updatedAt) throw new OutOfOrder(ts, vault.updatedAt)
    return vault
  }

  /** Replaces the state of a vault. At the first change in a batch, saves the properties by which it was counted before. */
  #replaceVault(vault: VaultRecord): void {
    const { changedVaults } = this.changes
    const before = this.state.vaults.get(vault.address)
    if (!changedVaults.has(vault.address))
      changedVaults.set(vault.address, before === undefined ? null : countedBy(before))
    this.state.vaults.set(vault.address, vault)
  }

  /** Replaces the state of a vault after a flow or mark, and adds its equity point. */
  #replaceVaultAndAddPoint(vault: VaultRecord, mark: RecordedMark | null): void {
    const { id: vaultId, address, state, fees, history, updatedAt: ts } = vault
    const before = this.state.vaults.get(address)
    let series = this.changes.series.get(address)
    if (series === undefined) this.changes.series.set(address, (series = noSeriesChanges(vault, before)))
    this.#replaceVault(vault)
    const [positions, markDigest] = [mark?.positions ?? null, mark?.digest ?? null]
    const replacesStored = before?.equityAt === ts
    addPoint(series, { vaultId, ts, state, fees, markedAt: history.markedAt, positions, markDigest, replacesStored })
  }
}

interface RecordedMark {
  readonly digest: string
  readonly positions: readonly RecordedPosition[]
}
