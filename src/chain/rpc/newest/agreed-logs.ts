import { type ChainLog, keyOfLog } from '../block.ts'
import { readMatchingLogs } from '../bloom.ts'
import type { LogFilter, Node } from '../node.ts'
import type { BlockId, Rpc } from '../rpc.ts'

/**
 * Reads logs of a block until two answers in succession agree, each of the next node that is not slow: a node may garble
 * logs, or tell some that are not there. The first answer counts where it is empty, or there is a single node.
 */
export async function readAgreedLogs(
  { nodes }: Pick<Rpc, 'nodes'>,
  askInTurn: ReturnType<Rpc['askInTurnAt']>,
  read: (node: Node) => Promise<ChainLog[]>,
): Promise<ChainLog[]> {
  let logs = await askInTurn(read)
  if (logs.length === 0 || nodes.length === 1) return logs
  for (let readings = 1; readings <= nodes.length; readings++) {
    const again = await askInTurn(read, true)
    if (contentsOf(again) === contentsOf(logs)) return again
    logs = again
  }
  // No two of the nodes agree: the contracts decide.
  return logs
}

/**
 * Reads the logs of a block that match a filter, in the same way; an empty answer is confirmed by the next node, since a
 * node may have a block before its logs.
 */
export async function readConfirmedLogs(
  rpc: Pick<Rpc, 'nodes' | 'askInTurnAt'>,
  filter: LogFilter,
  block: BlockId,
): Promise<ChainLog[]> {
  const askInTurn = rpc.askInTurnAt(block)
  const read = (node: Node): Promise<ChainLog[]> => readMatchingLogs(node, filter, block)
  const logs = await readAgreedLogs(rpc, askInTurn, read)
  return logs.length > 0 ? logs : askInTurn(read)
}

/** Returns a text to compare logs by, without the places of transactions, which some nodes do not tell. */
function contentsOf(logs: readonly ChainLog[]): string {
  const texts = logs.map((log) => [keyOfLog(log), log.address, ...log.topics, log.data].join(' '))
  return texts.sort().join()
}
