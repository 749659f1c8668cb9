import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { BlockPlan } from './block-plan.ts'
import { BlockFacts, type BlockFactsOptions } from './block-facts.ts'

/** A second with facts: its blocks that have some, and its last block. */
export interface TimestampBlocks {
  readonly blocks: readonly { readonly plan: BlockPlan; readonly header: Header }[]
  readonly end: Header
}

/**
 * Reads the facts of a second: events block by block in the order of the logs, then marks at its end, because a mark is
 * identified by its second.
 */
export async function timestampFacts(
  { blocks, end }: TimestampBlocks,
  options: BlockFactsOptions,
): Promise<FactInput[]> {
  const blockFacts = new Map<string, BlockFacts>()
  const factsAt = (header: Header): BlockFacts => {
    const facts = blockFacts.get(header.hash) ?? new BlockFacts(header, options)
    blockFacts.set(header.hash, facts)
    return facts
  }
  const marked = new Map(blocks.flatMap(({ plan }) => [...plan.marked]))
  const [events, marks] = await Promise.all([
    Promise.all(blocks.map(({ plan, header }) => factsAt(header).eventFacts(plan))),
    Promise.all([...marked].map(([vault, held]) => factsAt(end).mark(vault, held))),
  ])
  return [...events.flat(), ...marks]
}
