import { getLogsRetryHelper } from '@ponder/utils'
import { numberToHex, type RpcError } from 'viem'
import type { ChainLog } from './block.ts'
import { NodeFault } from '../errors.ts'
import type { LogFilter, Node } from './node.ts'
import type { Rpc } from './rpc.ts'

const firstBlocks = 1_000
const mostBlocks = 10_000

/** How many blocks nodes let themselves be asked for at once: found by trying. */
export class RangeWidth {
  blocks = firstBlocks

  grow(): void {
    this.blocks = Math.min(mostBlocks, this.blocks * 2)
  }

  /** What the provider advises, or half. */
  shrink(error: unknown): void {
    const half = Math.max(1, Math.floor(this.blocks / 2))
    const params = [{ fromBlock: numberToHex(1), toBlock: numberToHex(this.blocks) }] as const
    const advice = getLogsRetryHelper({ params: [...params], error: error as RpcError })
    const [first] = advice.shouldRetry && advice.isSuggestedRange ? advice.ranges : []
    const advised = first === undefined ? half : Number(first.toBlock) - Number(first.fromBlock) + 1
    this.blocks = Math.max(1, Math.min(advised, this.blocks))
  }
}

/** The logs of old blocks that any of these filters finds, in order. */
export async function readHistory(
  rpc: Rpc,
  filters: readonly LogFilter[],
  from: number,
  to: number,
  width = new RangeWidth(),
): Promise<ChainLog[]> {
  const found = await Promise.all(filters.map((filter) => readOne(rpc, filter, from, to, width)))
  return sortLogs(found.flat())
}

/** A log can be found by two filters. */
export function sortLogs(logs: readonly ChainLog[]): ChainLog[] {
  const once = new Map(logs.map((log) => [`${log.blockHash} ${log.logIndex}`, log]))
  return [...once.values()].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
}

async function readOne(rpc: Rpc, filter: LogFilter, from: number, to: number, width: RangeWidth): Promise<ChainLog[]> {
  const found: ChainLog[] = []
  for (let at = from; at <= to;) {
    const { logs, end } = await rpc.ask((node) => readSome(node, filter, at, to, width))
    found.push(...logs)
    at = end + 1
  }
  return found
}

async function readSome(node: Node, filter: LogFilter, from: number, to: number, width: RangeWidth) {
  const end = Math.min(from + width.blocks - 1, to)
  // The node shows that it is so far before its logs are believed: one that lags leaves them out without a word.
  await node.block(to)
  try {
    const logs = await node.logsIn(filter, from, end)
    width.grow()
    return { logs, end }
  } catch (error) {
    if (!(error instanceof NodeFault)) width.shrink(error)
    throw error
  }
}
