import { setTimeout as wait } from 'node:timers/promises'
import type { Header } from './block.ts'
import type { ChainConfig } from '../config.ts'
import { ChainDiverged, FinalBlockMissing, NodeFault } from '../errors.ts'
import type { Node } from './node.ts'
import type { Rpc } from './rpc.ts'

/**
 * Number of times that all nodes must agree before a final block counts as reorganised: behind one URL there may be
 * nodes that disagree.
 */
const breakConfirmations = 10
const pauseMilliseconds = 200

/**
 * Number of blocks that a final block may exceed the newest known one by without a second answer: chains finalise some
 * dozens of blocks at once.
 */
const maxUnconfirmedBlocks = 64
/** Number of times that each node must lack a block, before it does not count as final any more. */
const missingConfirmations = 5

/** The newest final block, and the name of the node that has reported it. */
export interface FinalHeader extends Header {
  readonly node: string
}

/** Returns the newest final block, by the configured finality: the `finalized` tag or a number of confirmations. */
export async function finalBlock(rpc: Rpc, finality: ChainConfig['finality']): Promise<FinalHeader> {
  const final = await rpc.askAny(async (node) => {
    const block = await readFinal(node, finality)
    if (block.number > rpc.newest.number + maxUnconfirmedBlocks) await confirm(rpc, block)
    return { ...block, node: node.name }
  })
  rpc.newest.note(final)
  return final
}

async function readFinal(node: Node, finality: ChainConfig['finality']): Promise<Header> {
  if (finality === 'finalized') return node.block('finalized')
  const { number } = await node.block('latest')
  return node.block(Math.max(0, number - finality))
}

/**
 * Verifies a block by a second answer, of any node: others may lag or be away.
 * @throws {NodeFault} when no node has the block
 * @throws {WrongChain} when one of the nodes serves another chain now
 */
async function confirm(rpc: Rpc, { number, hash }: Header): Promise<void> {
  await rpc.checkChain()
  // A node that has requested a pause is not queried meanwhile, unless all have.
  const ready = rpc.nodes.filter((node) => node.restMilliseconds() === 0)
  const answers = (ready.length === 0 ? rpc.nodes : ready).map(async (node) => {
    const found = await node.block(number)
    if (found.hash !== hash) throw new NodeFault(`has another block ${number}`)
  })
  try {
    await Promise.any(answers)
  } catch {
    throw new NodeFault(`gave block ${number}, ${hash}, as final, which isn't there when it is requested again`)
  }
}

/**
 * Reads a block that was final by the answer of a node.
 * @param verify rejects a block that does not fit
 * @throws {FinalBlockMissing} when all nodes lack it repeatedly, and their newest final block is below it
 */
export async function blockBelowFinal(
  rpc: Rpc,
  finality: ChainConfig['finality'],
  number: number,
  verify: (block: Header) => Header | Promise<Header> = (block) => block,
): Promise<Header> {
  let missing = 0
  const read = async (node: Node): Promise<Header> => {
    try {
      return await node.block(number)
    } catch (error) {
      if (!(error instanceof NodeFault) || (await readFinal(node, finality)).number >= number) throw error
      if (++missing < missingConfirmations * rpc.nodes.length) throw error
      throw new FinalBlockMissing(number)
    }
  }
  return rpc.ask(async (node) => verify(await read(node)))
}

/**
 * Returns a function that determines why a block does not follow a final one: a node may be wrong, lag, or be on another
 * fork. A node that does not answer may have the final block: without it, the final block counts as reorganised only once
 * the others have contradicted it for as long as errors of unknown cause take to count as lasting.
 * @throws {ChainDiverged} from that function, when all nodes that answer report repeatedly that the block was reorganised
 * @throws {WrongChain} when one of the nodes serves another chain now
 * @throws {NodeFault} otherwise
 */
export function breakExplainer(rpc: Rpc, final: Pick<Header, 'number' | 'hash'>): () => Promise<never> {
  let since: number | null = null
  return async () => {
    since ??= performance.now()
    let canonicalHash = ''
    let isUnanimous = true
    for (let round = 0; round < breakConfirmations; round++) {
      const answers = await Promise.allSettled(rpc.nodes.map((node) => node.block(final.number)))
      const hashes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.hash] : []))
      if (hashes.length === 0 || hashes.includes(final.hash)) {
        const isOnOtherFork = hashes.some((hash) => hash !== final.hash)
        throw new NodeFault(`gave a block that doesn't follow on block ${final.number}, ${final.hash}`, isOnOtherFork)
      }
      isUnanimous &&= hashes.length === rpc.nodes.length
      canonicalHash = hashes[0] as string
      await wait(pauseMilliseconds)
    }
    if (!isUnanimous && performance.now() - since < rpc.faultTimes.unexplainedReportedAfter) {
      throw new NodeFault(
        `gave a block that doesn't follow on block ${final.number}, ${final.hash}, and another node is away`,
      )
    }
    await rpc.checkChain()
    throw new ChainDiverged(final.number, final.hash, canonicalHash)
  }
}
