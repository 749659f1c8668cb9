import type { Address } from '../../domain/address.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import { checkFact } from '../../feed/fact/parse.ts'
import { ContractMismatch } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { Header } from '../rpc/block.ts'
import type { BlockPlan } from './block-plan.ts'
import { BlockFacts } from './block-facts.ts'
import type { BlockFactsOptions } from './block-values.ts'
import { type VaultFault, VaultFaults } from '../progress/set-aside.ts'

/** A second with facts: its blocks that have some, and its last block. */
export interface TimestampBlocks {
  readonly blocks: readonly { readonly plan: BlockPlan; readonly header: Header }[]
  readonly end: Header
  /** The vaults to value at the end of its last block, with the positions that they hold then. */
  readonly marked: ReadonlyMap<Address, VaultHoldings>
}

/** The facts of a second, without those of vaults that have a fault in it. */
export interface TimestampFacts {
  readonly facts: readonly FactInput[]
  readonly faults: ReadonlyMap<Address, VaultFault>
}

/**
 * Reads the facts of a second: events block by block in the order of the logs, then the last owners and marks at its end,
 * because these are identified by their second.
 */
export async function timestampFacts(
  { blocks, end, marked }: TimestampBlocks,
  options: BlockFactsOptions,
): Promise<TimestampFacts> {
  const faults = new VaultFaults()
  const blockFacts = new Map<string, BlockFacts>()
  const factsAt = (header: Header): BlockFacts => {
    const facts = blockFacts.get(header.hash) ?? new BlockFacts(header, faults, options)
    blockFacts.set(header.hash, facts)
    return facts
  }
  for (const [vault, fault] of blocks.flatMap(({ plan }) => [...plan.faults])) faults.add(vault, fault)
  const owners = new Map(blocks.flatMap(({ plan }) => [...plan.owners]))
  const [events, marks] = await Promise.all([
    Promise.all(blocks.map(({ plan, header }) => factsAt(header).eventFacts(plan))),
    Promise.all([...marked].map(([vault, held]) => faults.of(vault, factsAt(end).mark(vault, held)))),
  ])
  const owned = Array.from(owners, ([vault, owner]) => ({ kind: 'owner' as const, ts: end.ts, vault, owner }))
  const facts = [...events.flat(), ...owned, ...marks.filter((mark) => mark !== null)]
  for (const fact of facts) faults.in(fact.vault as Address, () => requireValid(fact, end))
  return { facts: facts.filter(({ vault }) => !faults.found.has(vault as Address)), faults: faults.found }
}

/**
 * Requires a fact to be one that a feed accepts: contracts may answer with amounts that no fact can have.
 * @throws {ContractMismatch} when it is not
 */
function requireValid(fact: Extract<FactInput, { vault: string }>, { number }: Header): void {
  const checked = checkFact(fact)
  if (checked.ok) return
  const { key, reason } = checked.issue
  const name = fact.kind === 'event' ? `${fact.type} event` : `${fact.kind} fact`
  throw new ContractMismatch(fact.vault, number, `has a ${name} whose ${key ?? 'form'} ${reason},`)
}
