import type { FactInput } from '../feed/fact.ts'
import type { Header } from './block.ts'
import type { Plan } from './plan.ts'
import { Scene, type SceneOptions } from './scene.ts'

/** A second in which there is something to tell: its blocks of which there is, and the last one of all. */
export interface Moment {
  readonly blocks: readonly { readonly plan: Plan; readonly header: Header }[]
  readonly end: Header
}

/**
 * The facts of a second: what happened, block by block in the order of the logs, then what the vaults are worth at its
 * end, since a mark is known by its second.
 */
export async function factsOf({ blocks, end }: Moment, options: SceneOptions): Promise<FactInput[]> {
  const scenes = new Map<string, Scene>()
  const sceneAt = (header: Header): Scene => {
    const scene = scenes.get(header.hash) ?? new Scene(header, options)
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
