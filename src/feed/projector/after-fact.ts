import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import { feesAfter, statedFees, withStatedHighWater, type VaultFees } from '../../domain/fees.ts'
import { deposit, revalue, withdraw } from '../../domain/flows.ts'
import { isInRange } from '../../domain/position.ts'
import { exit, plant, requireStorable, resume, setPositions, suspend, type VaultState } from '../../domain/vault.ts'
import type { EventFact, MarkFact } from '../fact/fact.ts'
import { pointCountAfter } from './series.ts'

/**
 * Returns the state of a vault after an event.
 * @throws {DomainError} when the event breaks a rule, or its results cannot be stored
 */
export function afterEvent(vault: VaultState, fact: EventFact): VaultState {
  switch (fact.type) {
    case 'deposit':
    case 'withdraw':
      return requireStorable(afterFlow(vault, fact), 'valueBeforeUsd')
    case 'plant':
      return plant(vault)
    case 'exit':
      return exit(vault)
    case 'suspend':
      return suspend(vault, fact.reason, fact.ts)
    case 'resume':
      return resume(vault)
    case 'rebalance':
    case 'harvest':
    case 'fee':
      return vault
  }
}

function afterFlow(vault: VaultState, fact: FlowFact): VaultState {
  const before = valuation(fact.ts, fact.valueBeforeUsd, fact.prices)
  return fact.type === 'deposit'
    ? deposit(vault, before, fact.amountUsd, fact.assets)
    : withdraw(vault, before, fact.amountUsd)
}

type FlowFact = Extract<EventFact, { type: 'deposit' | 'withdraw' }>

/**
 * Returns the state of a vault after a mark.
 * @throws {DomainError} when the mark breaks a rule, or its results cannot be stored
 */
export function stateAfterMark(vault: VaultState, { ts, valueUsd, prices, positions }: MarkFact): VaultState {
  const outOfRange = positions.filter(({ range, ticks }) => !isInRange(range, ticks ?? null)).length
  const valued = revalue(vault, valuation(ts, valueUsd, prices))
  return requireStorable(setPositions(valued, { open: positions.length, outOfRange }), 'valueUsd')
}

/** Returns the fees of a vault after a mark. */
export function feesAfterMark(fees: VaultFees, state: VaultState, mark: MarkFact): VaultFees {
  const { fees: statedSummary, highWaterValueUsd } = mark
  const after = statedSummary === undefined ? feesAfter(fees, state) : statedFees(statedSummary)
  return highWaterValueUsd === undefined ? after : withStatedHighWater(after, state, highWaterValueUsd)
}

/** Returns a vault after a mark. Lists all properties, for speed: see the README of feed/. */
export function markedVault(
  vault: VaultRecord,
  ts: number,
  { state, fees, history }: Pick<VaultRecord, 'state' | 'fees' | 'history'>,
): VaultRecord {
  const { id, address, owner, chainId, strategyId, openedAt, digest, ledgerBlock, ledgerInOrder, ownerIsLarge } = vault
  return {
    id,
    address,
    owner,
    chainId,
    strategyId,
    openedAt,
    digest,
    state,
    fees,
    equityAt: ts,
    pointCount: pointCountAfter(vault, ts),
    ledgerBlock,
    ledgerInOrder,
    updatedAt: ts,
    ownerIsLarge,
    history,
  }
}

/** Converts the valuation of a fact. */
function valuation(tsSeconds: number, valueUsd: MarkFact['valueUsd'], prices: MarkFact['prices']) {
  return { tsSeconds, valueUsd, prices: new Map(Object.entries(prices)) }
}
