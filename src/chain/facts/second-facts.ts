import type { Address } from '../../domain/address.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import { checkFact } from '../../feed/fact/parse.ts'
import { ContractMismatch } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { Header } from '../rpc/block.ts'
import type { BlockPlan } from './block-plan.ts'
import { BlockFacts } from './block-facts.ts'
import type { BlockFactsOptions } from './block-values.ts'
import { type VaultFault, VaultFaults } from '../vault-groups/set-aside.ts'

/** A second with facts: its blocks with facts, and its last block. */
export interface SecondBlocks {
  readonly blocks: readonly { readonly plan: BlockPlan; readonly header: Header }[]
  readonly end: Header
  /** The vaults to value at the end of the last block, with their positions at that time. */
  readonly marked: ReadonlyMap<Address, VaultHoldings>
  /** The same for vaults about which the second has no other logs than mints: valued where these are fees. */
  readonly minting: ReadonlyMap<Address, VaultHoldings>
}

/** The facts of a second; facts of vaults with a fault in that second are left out. */
export interface SecondFacts {
  /** The first block with facts; the last block of the second where none has. */
  readonly start: Header
  readonly facts: readonly FactInput[]
  readonly faults: ReadonlyMap<Address, VaultFault>
}

/**
 * Reads the facts of a second: events block by block in the order of the logs, then the last owners and the marks at
 * its end, because owners and marks are identified by their second.
 */
export async function readSecondFacts(
  { blocks, end, marked, minting }: SecondBlocks,
  options: BlockFactsOptions,
): Promise<SecondFacts> {
  const faults = new VaultFaults()
  const blockFacts = new Map<string, BlockFacts>()
  const factsAt = (header: Header): BlockFacts => {
    const facts = blockFacts.get(header.hash) ?? new BlockFacts(header, faults, options)
    blockFacts.set(header.hash, facts)
    return facts
  }
  for (const [vault, fault] of blocks.flatMap(({ plan }) => [...plan.faults])) faults.add(vault, fault)
  const owners = new Map(blocks.flatMap(({ plan }) => [...plan.owners]))
  const markAll = (vaults: SecondBlocks['marked']) =>
    Promise.all([...vaults].map(([vault, held]) => faults.of(vault, factsAt(end).mark(vault, held))))
  const [events, marks] = await Promise.all([
    Promise.all(blocks.map(({ plan, header }) => factsAt(header).eventFacts(plan))),
    markAll(marked),
  ])
  const paying = new Set(events.flat().flatMap((fact) => (fact.kind === 'event' ? [fact.vault] : [])))
  const feeMarks = await markAll(new Map([...minting].filter(([vault]) => paying.has(vault))))
  const owned = Array.from(owners, ([vault, owner]) => ({ kind: 'owner' as const, ts: end.ts, vault, owner }))
  const facts = [...events.flat(), ...owned, ...[...marks, ...feeMarks].filter((mark) => mark !== null)]
  for (const fact of facts) faults.in(fact.vault as Address, () => requireValid(fact, end))
  const kept = facts.filter(({ vault }) => !faults.found.has(vault as Address))
  return { start: blocks[0]?.header ?? end, facts: kept, faults: faults.found }
}

/**
 * Requires that the feed accepts a fact: contracts may return amounts outside the limits of facts.
 * @throws {ContractMismatch} when the feed refuses it
 */
function requireValid(fact: Extract<FactInput, { vault: string }>, { number }: Header): void {
  const checked = checkFact(fact)
  if (checked.ok) return
  const { key, reason } = checked.issue
  const name = fact.kind === 'event' ? `${fact.type} event` : `${fact.kind} fact`
  throw new ContractMismatch(fact.vault, number, `has a ${name} whose ${key ?? 'form'} ${reason},`)
}
