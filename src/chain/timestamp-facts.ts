import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { BlockPlan } from './block-plan.ts'
import { BlockFacts, type BlockFactsOptions } from './block-facts.ts'

/** A second in which there is something to tell: its blocks of which there is, and the last one of all. */
export interface TimestampBlocks {
  readonly blocks: readonly { readonly plan: BlockPlan; readonly header: Header }[]
  readonly end: Header
}

/**
 * The facts of a second: what happened, block by block in the order of the logs, then what the vaults are worth at its
 * end, since a mark is known by its second.
 */
export async function timestampFacts(
  { blocks, end }: TimestampBlocks,
  options: BlockFactsOptions,
): Promise<FactInput[]> {
  const scenes = new Map<string, BlockFacts>()
  const sceneAt = (header: Header): BlockFacts => {
    const scene = scenes.get(header.hash) ?? new BlockFacts(header, options)
    scenes.set(header.hash, scene)
    return scene
  }
  const marked = new Map(blocks.flatMap(({ plan }) => [...plan.marked]))
  const [happened, marks] = await Promise.all([
    Promise.all(blocks.map(({ plan, header }) => sceneAt(header).happenings(plan))),
    Promise.all([...marked].map(([vault, held]) => sceneAt(end).mark(vault, held))),
  ])
  return [...happened.flat(), ...marks]
}
