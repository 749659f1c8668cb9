import { setTimeout as wait } from 'node:timers/promises'
import type { Header } from './block.ts'
import type { ChainConfig } from '../config.ts'
import { ChainDiverged, NodeFault } from '../errors.ts'
import type { Rpc } from './rpc.ts'

/** How often all nodes have to say so before a block that was final is believed to be gone. */
const rounds = 3
const pauseMilliseconds = 300

/** The newest block that can't be taken back any more, by the finality that is agreed. */
export function finalBlock(rpc: Rpc, finality: ChainConfig['finality']): Promise<Header> {
  return rpc.ask(async (node) => {
    if (finality === 'finalized') return node.block('finalized')
    const { number } = await node.block('latest')
    return node.block(Math.max(0, number - finality))
  })
}

/**
 * Finds out why a block doesn't follow on one that was read as final: a node may err, and may lag.
 * @throws {ChainDiverged} where all nodes that answer say, again and again, that the final one is gone
 * @throws {NodeFault} where not
 */
export async function explainBreak(rpc: Rpc, final: Pick<Header, 'number' | 'hash'>): Promise<never> {
  let canonicalHash = ''
  for (let round = 0; round < rounds; round++) {
    const answers = await Promise.allSettled(rpc.nodes.map((node) => node.block(final.number)))
    const hashes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.hash] : []))
    if (hashes.length === 0 || hashes.includes(final.hash)) {
      throw new NodeFault(`gave a block that doesn't follow on block ${final.number}, ${final.hash}`)
    }
    canonicalHash = hashes[0] as string
    await wait(pauseMilliseconds)
  }
  throw new ChainDiverged(final.number, final.hash, canonicalHash)
}
