import { createHash } from 'node:crypto'
import { type ChainLog, type Header, sortLogs } from '../block.ts'
import { hasBloom, mayMatch } from '../bloom.ts'
import type { LogFilter } from '../node.ts'
import type { Rpc } from '../rpc.ts'
import { readConfirmedLogs } from './agreed-logs.ts'
import { readLinkedHeaders } from './linked-headers.ts'

/** Maximum number of blocks that are read at once, each by itself. */
const maxBlocksAtOnce = 256

/** Reads logs by block hashes, which a node without the block refuses; skips blocks that their blooms exclude. */
export async function readLogsByBlock(
  rpc: Rpc,
  filters: readonly LogFilter[],
  from: number,
  to: number,
): Promise<ChainLog[]> {
  // Filters may have thousands of topics.
  const keyOf = (filter: LogFilter): string => createHash('sha256').update(JSON.stringify(filter)).digest('base64')
  const keyed = filters.map((filter) => ({ filter, key: keyOf(filter) }))
  const found: ChainLog[] = []
  for (let at = from; at <= to; at += maxBlocksAtOnce) {
    const headers = await readLinkedHeaders(rpc, at, Math.min(to, at + maxBlocksAtOnce - 1))
    found.push(...(await Promise.all(headers.map((header) => readLogsOfHeader(rpc, keyed, header)))).flat())
  }
  return sortLogs(found)
}

interface KeyedFilter {
  readonly filter: LogFilter
  readonly key: string
}

async function readLogsOfHeader(rpc: Rpc, filters: readonly KeyedFilter[], header: Header): Promise<ChainLog[]> {
  const matching = filters.filter(({ filter }) => !hasBloom(header) || mayMatch(header.logsBloom, filter))
  try {
    const found = await Promise.all(
      matching.map(({ filter, key }) => rpc.newest.logsAt(header, key, () => readConfirmedLogs(rpc, filter, header))),
    )
    return found.flat()
  } catch (error) {
    rpc.newest.forget(header.number)
    throw error
  }
}
