import { type ChainLog, keyOfLog, sortLogs } from './block.ts'
import { readMatchingLogs } from './bloom.ts'
import { RequestFailed } from '../errors.ts'
import { readLogsByBlock } from './newest/logs-by-block.ts'
import type { LogFilter, Node } from './node.ts'
import { RangeWidth } from './nodes/range-width.ts'
import type { Rpc } from './rpc.ts'

/**
 * Number of newest blocks, the tail, that are read block by block: behind one URL, a node that lags silently omits their logs from a
 * range. No node that can serve the newest final block lags further.
 */
export const tailBlocks = 64
/** Number of these blocks that are read at once where the newest logs are sought: most are of one of the newest. */
const tailBlocksAtOnce = 8
/** Number of logs from which on an answer may have been cut off: some nodes do so without an error. */
const longAnswer = 100
/** Reads the logs in a range of final blocks that match any of these filters; the newest ones one by one. */
export async function readLogRange(
  rpc: Rpc,
  filters: readonly LogFilter[],
  from: number,
  to: number,
  width = new RangeWidth(),
): Promise<ChainLog[]> {
  const tail = width.isTrusted ? tailStart(rpc, from, to) : from
  const found = await Promise.all([
    readLogsByBlock(rpc, filters, tail, to),
    ...filters.map((filter) => readLogsOfFilter(rpc, filter, from, tail - 1, width)),
  ])
  return sortLogs(found.flat())
}

/**
 * Reads the logs up to a final block that match any of these filters: from the blocks that are read one by one, or else
 * from as many blocks as the nodes grant to the first filter.
 * @returns the logs in order, and the first block that was read
 */
export async function readNewestLogs(
  rpc: Rpc,
  [first, ...others]: readonly LogFilter[],
  to: number,
  width: RangeWidth,
): Promise<{ logs: ChainLog[]; from: number }> {
  if (first === undefined) return { logs: [], from: 0 }
  const tail = Math.max(tailStart(rpc, 0, to), to - tailBlocksAtOnce + 1)
  if (tail <= to) return { logs: await readLogsByBlock(rpc, [first, ...others], tail, to), from: tail }
  const { logs, from } = await readNewestGrantedRange(rpc, first, to, width)
  // Each filter has its own request, so that a failure does not repeat the others.
  const found = await Promise.all(others.map((filter) => readLogsOfFilter(rpc, filter, from, to, width)))
  return { logs: sortLogs([...logs, ...found.flat()]), from }
}

/** Returns the first block of a range that is read by itself; the one after the range where none is. */
function tailStart(rpc: Rpc, from: number, to: number): number {
  const newest = Math.max(rpc.newest.number, to)
  return Math.min(Math.max(from, newest - tailBlocks + 1), to + 1)
}

function readNewestGrantedRange(
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
        const logs = await requestLogs(node, filter, from, to)
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

async function readLogsOfFilter(
  rpc: Rpc,
  filter: LogFilter,
  from: number,
  to: number,
  width: RangeWidth,
): Promise<ChainLog[]> {
  const found: ChainLog[] = []
  for (let at = from; at <= to;) {
    const { logs, end } = await rpc.ask((node) => readGrantedRange(node, filter, at, to, width))
    found.push(...logs)
    at = end + 1
  }
  return found
}

async function readGrantedRange(node: Node, filter: LogFilter, from: number, to: number, width: RangeWidth) {
  // The node must have the last block of the range: a node that lags omits logs silently.
  await node.block(to)
  for (;;) {
    const end = Math.min(from + width.blocks - 1, to)
    try {
      const logs = await requestLogs(node, filter, from, end)
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
async function requestLogs(node: Node, filter: LogFilter, from: number, to: number): Promise<ChainLog[]> {
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
          requestLogs(node, filter, first, first),
          last < to ? node.logsIn(filter, last + 1, to) : [],
        ])
  const known = new Set(logs.map(keyOfLog))
  return ends.flat().some((log) => !known.has(keyOfLog(log)))
}
