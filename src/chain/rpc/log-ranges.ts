import { getLogsRetryHelper } from '@ponder/utils'
import { numberToHex, type RpcError } from 'viem'
import type { ChainLog } from './block.ts'
import { RequestFailed } from '../errors.ts'
import type { LogFilter, Node } from './node.ts'
import type { Rpc } from './rpc.ts'

const firstBlocks = 1_000
const maxBlocks = 10_000

/** Adapts the number of blocks in a log request to the limits of the nodes. */
export class RangeWidth {
  blocks = firstBlocks

  /** Doubles the width after a success. */
  grow(): void {
    this.blocks = Math.min(maxBlocks, this.blocks * 2)
  }

  /** Reduces the width after an error: to the provider's suggestion, or by half. */
  shrink(error: unknown): void {
    const half = Math.max(1, Math.floor(this.blocks / 2))
    const params = [{ fromBlock: numberToHex(1), toBlock: numberToHex(this.blocks) }] as const
    const advice = getLogsRetryHelper({ params: [...params], error: error as RpcError })
    const [first] = advice.shouldRetry && advice.isSuggestedRange ? advice.ranges : []
    const advised = first === undefined ? half : Number(first.toBlock) - Number(first.fromBlock) + 1
    this.blocks = Math.max(1, Math.min(advised, this.blocks))
  }
}

/** Reads the logs in a range of old blocks that match any of these filters, in order. */
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

/** Sorts logs and removes duplicates, because a log may match two filters. */
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
  // The node must know the last block before its logs are accepted: a node that lags omits logs silently.
  await node.block(to)
  try {
    const logs = await node.logsIn(filter, from, end)
    width.grow()
    return { logs, end }
  } catch (error) {
    if (error instanceof RequestFailed) width.shrink(error.cause)
    throw error
  }
}
