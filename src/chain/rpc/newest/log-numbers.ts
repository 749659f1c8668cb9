import { type ChainLog, compareLogs, type Header } from '../block.ts'
import type { Report } from '../fault-watch.ts'
import type { Rpc } from '../rpc.ts'

/**
 * Compares how the nodes number the logs of a block, and reports those that differ: an event is known by its number, so
 * that another numbering makes it another event. Nodes without an answer are skipped, and blocks without logs tell
 * nothing.
 */
export async function compareLogNumbers(rpc: Rpc, { number, hash }: Header, report: Report): Promise<void> {
  if (rpc.nodes.length === 1) return
  const answers = await Promise.allSettled(rpc.nodes.map((node) => node.logsOf({}, hash)))
  const told = answers.flatMap((answer, index) => {
    const node = rpc.nodes[index]?.name ?? ''
    return answer.status === 'fulfilled' ? [{ node, logs: [...answer.value].sort(compareLogs) }] : []
  })
  const [first] = told
  const other = told.find(({ logs }) => first !== undefined && areNumberedOtherwise(first.logs, logs))
  if (first === undefined || other === undefined) return
  report(
    'error',
    'Nodes number the logs of a block differently, so that events may be counted twice: name only nodes that agree',
    { nodes: [first.node, other.node], block: number },
  )
}

/** Returns whether lists are of the same logs, with other numbers. */
function areNumberedOtherwise(some: readonly ChainLog[], others: readonly ChainLog[]): boolean {
  const areSame =
    some.length === others.length &&
    some.every(({ txHash, data }, index) => txHash === others[index]?.txHash && data === others[index].data)
  return areSame && some.some(({ logIndex }, index) => logIndex !== others[index]?.logIndex)
}
