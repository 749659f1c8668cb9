import { setTimeout as wait } from 'node:timers/promises'
import type { Header } from './block.ts'
import type { ChainConfig } from '../config.ts'
import { ChainDiverged, NodeFault } from '../errors.ts'
import type { Rpc } from './rpc.ts'

/**
 * Number of times that all nodes must agree before a final block counts as reorganised: behind one URL there may be
 * nodes that disagree.
 */
const breakConfirmations = 10
const pauseMilliseconds = 200

/** Returns the newest final block, by the configured finality: the `finalized` tag or a number of confirmations. */
export async function finalBlock(rpc: Rpc, finality: ChainConfig['finality']): Promise<Header> {
  const final = await rpc.ask(async (node) => {
    if (finality === 'finalized') return node.block('finalized')
    const { number } = await node.block('latest')
    return node.block(Math.max(0, number - finality))
  })
  rpc.newest.note(final)
  return final
}

/**
 * Determines why a block does not follow a final one: a node may be wrong or lag.
 * @throws {ChainDiverged} when all nodes that answer report repeatedly that the final block was reorganised
 * @throws {WrongChain} when one of the nodes serves another chain now
 * @throws {NodeFault} otherwise
 */
export async function explainBreak(rpc: Rpc, final: Pick<Header, 'number' | 'hash'>): Promise<never> {
  let canonicalHash = ''
  for (let round = 0; round < breakConfirmations; round++) {
    const answers = await Promise.allSettled(rpc.nodes.map((node) => node.block(final.number)))
    const hashes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.hash] : []))
    if (hashes.length === 0 || hashes.includes(final.hash)) {
      throw new NodeFault(`gave a block that doesn't follow on block ${final.number}, ${final.hash}`)
    }
    canonicalHash = hashes[0] as string
    await wait(pauseMilliseconds)
  }
  await rpc.checkChain()
  throw new ChainDiverged(final.number, final.hash, canonicalHash)
}
