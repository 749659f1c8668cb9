import { getLogsRetryHelper } from '@ponder/utils'
import { numberToHex, type RpcError } from 'viem'
import type { Log } from './block.ts'
import type { LogFilter } from './node.ts'
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

/** The logs of old blocks that any of these filters finds. */
export async function readHistory(rpc: Rpc, filters: readonly LogFilter[], from: number, to: number): Promise<Log[]> {
  const width = new RangeWidth()
  const found: Log[] = []
  for (let at = from; at <= to;) {
    const next = await rpc.ask(
      async (node) => {
        const end = Math.min(at + width.blocks - 1, to)
        // The node shows that it is so far before its logs are believed.
        await node.block(end)
        for (const filter of filters) found.push(...(await node.logsIn(filter, at, end)))
        width.grow()
        return end + 1
      },
      (error) => width.shrink(error),
    )
    at = next
  }
  return found
}
