import { Contradiction, NodeFault } from '../../errors.ts'
import type { Header } from '../block.ts'
import type { Node } from '../node.ts'
import type { Rpc } from '../rpc.ts'

/** Number of times that each node must contradict a header before it counts as wrong itself. */
const contradictedConfirmations = 5

/**
 * Reads the headers of final blocks by their numbers, each with the hash that the next one has as its parent's: behind
 * one URL, a node may be on another fork.
 * @throws {Contradiction} when the nodes have no parent of one of the blocks, which may be of a fork
 */
export async function readLinkedHeaders(rpc: Rpc, from: number, to: number): Promise<Header[]> {
  const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => to - index)
  const read = (number: number): Promise<Header> => rpc.ask((node) => node.block(number))
  const found = await Promise.all(numbers.map((number) => rpc.newest.headerAt(number, read)))
  const linked: Header[] = []
  for (const header of found) {
    const next = linked.at(-1)
    const isLinked = next === undefined || next.parentHash === header.hash
    linked.push(isLinked ? header : await readParent(rpc, next))
  }
  return linked.reverse()
}

async function readParent(rpc: Rpc, child: Header): Promise<Header> {
  let contradictions = 0
  const read = async (node: Node): Promise<Header> => {
    const block = await node.block(child.number - 1)
    if (block.hash === child.parentHash) return block
    const problem = `block ${child.number}, ${child.hash}, doesn't follow block ${block.number}, ${block.hash}`
    if (++contradictions < contradictedConfirmations * rpc.nodes.length) throw new NodeFault(`contradicts: ${problem}`)
    rpc.newest.forget(child.number)
    throw new Contradiction(problem)
  }
  const parent = await rpc.ask(read)
  rpc.newest.replace(parent)
  return parent
}
