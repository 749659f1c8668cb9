import { deposit, withdraw } from '../../domain/flows.ts'
import { exit, plant, requireStorable, resume, suspend, type VaultState } from '../../domain/vault.ts'
import type { EventFact, MarkFact } from '../fact/fact.ts'

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

/** Converts the valuation of a fact. */
export function valuation(tsSeconds: number, valueUsd: MarkFact['valueUsd'], prices: MarkFact['prices']) {
  return { tsSeconds, valueUsd, prices: new Map(Object.entries(prices)) }
}
