import { getLogsRetryHelper } from '@ponder/utils'
import { BaseError, numberToHex, type RpcError } from 'viem'
import { type ChainLog, keyOfLog, sortLogs } from './block.ts'
import { readMatchingLogs } from './bloom.ts'
import { RequestFailed } from '../errors.ts'
import { findTooLong, isRefusedForNumber } from './faults.ts'
import { readSingly } from './newest/single-blocks.ts'
import type { LogFilter, Node } from './node.ts'
import type { Rpc } from './rpc.ts'

const firstBlocks = 1_000
const maxBlocks = 10_000
/**
 * Number of newest blocks that are read one by one: behind one URL, a node that lags silently omits their logs from a
 * range. No node that can serve the newest final block lags further.
 */
export const singleBlocks = 64
/** Number of these blocks that are read at once where the newest logs are sought: most are of one of the newest. */
const singlesAtOnce = 8
/** Number of logs from which on an answer may have been cut off: some nodes do so without an error. */
const longAnswer = 100
/** After so many answers a width is tried that was refused before. */
const answersBeforeTrial = 50
/**
 * A refusal of a range for its width, in the words of any provider; not one for blocks that the node does not have.
 * @see go-ethereum, Besu, Nethermind, Erigon; QuickNode, Chainstack, Polygon, BNB Chain
 */
const tooWideText =
  /^(?=.*(?<!out of )\branges?\b)(?=.*(?:limit|max|large|wide|exceed|greater|up to|not supported|reduc))/i
/** An outage of a provider, which @ponder/utils mistakes for a range that is too wide. */
const outageText = 'no backend is currently healthy'

/** Adapts the number of blocks in a log request to the limits of the nodes. */
export class RangeWidth {
  blocks: number
  /** Whether answers about ranges are complete: some nodes cut long ones off without an error. */
  isTrusted = true
  /** Upper limit of the width: after a refusal, the last reduced width. */
  #ceiling: number
  #most: number
  #answers = 0

  /** @param most greatest width in blocks; wider than usual for filters that match few logs in any range */
  constructor(most = maxBlocks) {
    this.blocks = Math.min(firstBlocks, most)
    this.#ceiling = most
    this.#most = most
  }

  /** Doubles the width after a success; a width that was refused is tried again only after many answers. */
  grow(): void {
    if (++this.#answers >= answersBeforeTrial) {
      this.#ceiling = Math.min(this.#most, this.#ceiling * 2)
      this.#answers = 0
    }
    this.blocks = Math.min(this.#ceiling, this.blocks * 2)
  }

  /**
   * Reduces the width after an error: to the provider's suggestion, or to half.
   * @param requested number of blocks of the request
   * @returns whether the provider has refused the range, so that a smaller one can be requested immediately
   */
  shrink(error: unknown, requested: number): boolean {
    const params = [{ fromBlock: numberToHex(1), toBlock: numberToHex(requested) }] as const
    const advice = getLogsRetryHelper({ params: [...params], error: error as RpcError })
    const [first] = advice.shouldRetry && advice.isSuggestedRange ? advice.ranges : []
    const half = Math.floor(requested / 2)
    const advised = first === undefined ? half : Number(first.toBlock) - Number(first.fromBlock) + 1
    this.blocks = Math.max(1, Math.min(advised, this.blocks))
    const isTooWide = error instanceof BaseError && tooWideText.test(error.details)
    const isTooMuch = isTooWide || isRefusedForNumber(error) || findTooLong(error) !== null
    const isRefused = (advice.shouldRetry || isTooMuch) && !String(error).includes(outageText)
    // An unusual width may fail with any text, reach blocks whose logs are pruned, or time out.
    if (!isRefused && requested <= maxBlocks) return false
    this.#ceiling = this.blocks
    this.#answers = 0
    return isRefused && this.blocks < requested
  }

  /** Halves the width after an answer that was cut off. */
  halve(requested: number): void {
    this.blocks = this.#ceiling = Math.max(1, Math.floor(requested / 2))
    this.#answers = 0
  }

  /** Reads the logs of each block by its hash from now on; returns false where this was so already. */
  distrust(): boolean {
    const wasTrusted = this.isTrusted
    this.isTrusted = false
    this.#most = this.#ceiling = this.blocks = firstBlocks
    return wasTrusted
  }
}

/** Reads the logs in a range of final blocks that match any of these filters; the newest ones one by one. */
export async function readHistory(
  rpc: Rpc,
  filters: readonly LogFilter[],
  from: number,
  to: number,
  width = new RangeWidth(),
): Promise<ChainLog[]> {
  const single = width.isTrusted ? firstSingle(rpc, from, to) : from
  const found = await Promise.all([
    readSingly(rpc, filters, single, to),
    ...filters.map((filter) => readOne(rpc, filter, from, single - 1, width)),
  ])
  return sortLogs(found.flat())
}

/**
 * Reads the logs up to a final block that match any of these filters: from the blocks that are read one by one, or else
 * from as many blocks as the nodes grant to the first filter.
 * @returns the logs in order, and the first block that was read
 */
export async function readNewest(
  rpc: Rpc,
  [first, ...others]: readonly LogFilter[],
  to: number,
  width: RangeWidth,
): Promise<{ logs: ChainLog[]; from: number }> {
  if (first === undefined) return { logs: [], from: 0 }
  const single = Math.max(firstSingle(rpc, 0, to), to - singlesAtOnce + 1)
  if (single <= to) return { logs: await readSingly(rpc, [first, ...others], single, to), from: single }
  const { logs, from } = await readNewestOf(rpc, first, to, width)
  // Each filter has its own request, so that a failure does not repeat the others.
  const found = await Promise.all(others.map((filter) => readOne(rpc, filter, from, to, width)))
  return { logs: sortLogs([...logs, ...found.flat()]), from }
}

/** Returns the first block of a range that is read by itself; the one after the range where none is. */
function firstSingle(rpc: Rpc, from: number, to: number): number {
  const newest = Math.max(rpc.newest.number, to)
  return Math.min(Math.max(from, newest - singleBlocks + 1), to + 1)
}

function readNewestOf(
  rpc: Rpc,
  filter: LogFilter,
  to: number,
  width: RangeWidth,
): Promise<{ logs: readonly ChainLog[]; from: number }> {
  return rpc.ask(async (node) => {
    await node.block(to)
    for (;;) {
      const from = Math.max(0, to - width.blocks + 1)
      try {
        const logs = await readIn(node, filter, from, to)
        if (!(await isCutOff(node, filter, logs, from, to))) {
          width.grow()
          return { logs, from }
        }
        width.halve(to - from + 1)
      } catch (error) {
        if (!(error instanceof RequestFailed) || !width.shrink(error.cause, to - from + 1)) throw error
      }
    }
  })
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
  // The node must have the last block of the range: a node that lags omits logs silently.
  await node.block(to)
  for (;;) {
    const end = Math.min(from + width.blocks - 1, to)
    try {
      const logs = await readIn(node, filter, from, end)
      if (!(await isCutOff(node, filter, logs, from, end))) {
        width.grow()
        return { logs, end }
      }
      width.halve(end - from + 1)
    } catch (error) {
      if (!(error instanceof RequestFailed) || !width.shrink(error.cause, end - from + 1)) throw error
    }
  }
}

/** Reads a range at a node. A range of one block cannot be narrowed: it is read by its hash, or from its receipts. */
async function readIn(node: Node, filter: LogFilter, from: number, to: number): Promise<ChainLog[]> {
  return from < to ? node.logsIn(filter, from, to) : readMatchingLogs(node, filter, await node.block(from))
}

/**
 * Returns whether a long answer lacks logs up to the block of its first or from the block of its last one on, by separate requests for
 * these blocks. Where all are of one block, which may have more than are told at once, that block is requested by its hash.
 */
async function isCutOff(
  node: Node,
  filter: LogFilter,
  logs: readonly ChainLog[],
  from: number,
  to: number,
): Promise<boolean> {
  if (logs.length < longAnswer || from === to) return false
  const [first, last] = [logs[0]?.block ?? from, logs.at(-1)?.block ?? to]
  const ends =
    first < last
      ? await Promise.all([node.logsIn(filter, from, first), node.logsIn(filter, last, to)])
      : await Promise.all([
          first > from ? node.logsIn(filter, from, first - 1) : [],
          readIn(node, filter, first, first),
          last < to ? node.logsIn(filter, last + 1, to) : [],
        ])
  const known = new Set(logs.map(keyOfLog))
  return ends.flat().some((log) => !known.has(keyOfLog(log)))
}
