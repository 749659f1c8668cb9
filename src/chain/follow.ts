import { setTimeout as wait } from 'node:timers/promises'
import { type Header, type ChainLog, requireTimeOrder } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { FinalBlockMissing } from './errors.ts'
import type { FaultTimes, Report } from './rpc/fault-watch.ts'
import { blockBelowFinal, breakExplainer, type FinalHeader, finalBlock } from './rpc/finality.ts'
import { WrongFinals } from './rpc/newest/wrong-finals.ts'
import type { LogSource } from './log-source.ts'
import { tailBlocks } from './rpc/log-ranges.ts'
import { RangeWidth } from './rpc/nodes/range-width.ts'
import type { ChainConnection, ReadAttempt, Reading } from './reading.ts'

/** Consecutive final blocks with the logs in them. A range ends between two seconds. */
export interface BlockRange {
  readonly from: number
  readonly to: number
  readonly logs: readonly ChainLog[]
  /** Whether the logs are verified to be complete. */
  readonly isVerified: boolean
  /** Headers that were read with the range, including the header of the next block. */
  readonly headers: ReadonlyMap<number, Header>
}

/** The chain that {@link followChain} reads. */
export type FollowedNodes = Pick<ChainConnection, 'rpc' | 'report' | 'signal' | 'once'> & {
  readonly config: Pick<ChainConfig, 'finality' | 'pollSeconds'>
}

/** Options of {@link followChain}. */
export interface FollowOptions extends Pick<Reading, 'until' | 'onHead'>, Pick<ReadAttempt, 'distrustsRanges'> {
  readonly logs: LogSource
  /** The block before the first one. */
  readonly parent: Header
}

/**
 * Reads the chain up to its final block, and as it grows: old blocks in ranges (the backfill), the newest ones block by block, by
 * their hashes and with verified parent hashes (the tail).
 * @throws {ChainDiverged} when a final block was reorganised
 * @throws {ChainUnreadable} when `once` is set, and nodes name wrong blocks as final again and again, for a minute
 */
export async function* followChain(chain: FollowedNodes, options: FollowOptions): AsyncGenerator<BlockRange> {
  const { rpc, once, signal, report, config } = chain
  const { logs, until = Infinity } = options
  const width = new RangeWidth()
  if (options.distrustsRanges) width.distrust()
  const wrongFinals = new WrongFinals({ report, once, times: rpc.faultTimes })
  let last = options.parent
  const lowFinals = new LowFinals(report, rpc.faultTimes)
  for (;;) {
    const final = await finalBlock(rpc, config.finality)
    // A node of another, shorter chain would be waited for silently.
    if (final.number < last.number) await rpc.checkChain()
    lowFinals.add(final, last.number)
    try {
      for await (const range of readUpTo(chain, logs, { parent: last, final: final.number, until, width })) {
        yield range
        last = range.headers.get(range.to) as Header
        wrongFinals.reset()
      }
    } catch (error) {
      if (!(error instanceof FinalBlockMissing)) throw error
      rpc.newest.reset()
      wrongFinals.add(final, error.block)
      continue
    }
    // The final block may come from a node that lags, before `until`.
    if (once && (until === Infinity || last.number + 1 >= until)) return
    await options.onHead?.(last)
    await wait(config.pollSeconds * 1_000, undefined, { signal })
  }
}

/** Logs once that the newest final block stays below one that was read, until it has passed it again. */
class LowFinals {
  #since: number | null = null
  #isLogged = false

  constructor(
    readonly report: Report,
    readonly times: FaultTimes,
  ) {}

  add({ node, number: final }: FinalHeader, read: number): void {
    if (final >= read) {
      this.#since = null
      this.#isLogged = false
      return
    }
    const now = performance.now()
    this.#since ??= now
    if (this.#isLogged || now - this.#since < this.times.unexplainedReportedAfter) return
    this.report('error', 'The newest final block stays below one that was read', { node, final, read })
    this.#isLogged = true
  }
}

/**
 * Waits until the first block of the vaults is final: a reorganisation may still replace it, and the block before it.
 * @returns false where it is not final and `once` is set
 * @throws {WrongChain} when a node serves another chain now
 */
export async function awaitFinal(
  firstBlock: number,
  { rpc, config, once, signal, report }: FollowedNodes,
  onHead: Reading['onHead'],
): Promise<boolean> {
  for (let waits = false; ; waits = true) {
    const final = await finalBlock(rpc, config.finality)
    if (final.number >= firstBlock) return true
    if (!waits) {
      report('info', 'The first vault begins after the newest final block', { firstBlock, final: final.number })
    }
    if (!once) await onHead?.(final)
    const pause = once ? null : wait(config.pollSeconds * 1_000, undefined, { signal })
    // A node of another, shorter chain would be waited for silently.
    await Promise.all([rpc.checkChain(), pause])
    if (once) return false
  }
}

/** Reads the blocks up to a final one: the backfill in ranges, the tail of newest blocks one by one. */
async function* readUpTo(
  chain: FollowedNodes,
  logs: LogSource,
  { parent, final, until, width }: { parent: Header; final: number; until: number; width: RangeWidth },
): AsyncGenerator<BlockRange> {
  let last = parent
  const oldest = Math.min(final - tailBlocks, until - 1)
  while (oldest > last.number) {
    const range = await readBackfillRange(chain, logs, { parent: last, limit: oldest, final, width })
    // A second that has not ended by the final block is waited for, block by block.
    if (range === null) break
    yield range
    last = range.headers.get(range.to) as Header
  }
  yield* readTail(chain, logs, last, Math.min(final, until))
}

/**
 * Reads one range of the backfill, as wide as the nodes permit.
 * @returns null where all further blocks up to the final one are of the same second, which may go on after it
 */
async function readBackfillRange(
  chain: FollowedNodes,
  logs: LogSource,
  { parent, limit, final, width }: { parent: Header; limit: number; final: number; width: RangeWidth },
): Promise<BlockRange | null> {
  const first = await nextBlock(chain, parent)
  const headers = await readToNextSecond(chain, Math.min(parent.number + width.blocks, limit), final)
  if (headers === null) return null
  const [from, to] = [first.number, Math.max(...headers.keys()) - 1]
  const found = await logs.ofRange(from, to, width)
  // Parent hashes do not cover the blocks in between: a node of another chain would return no logs for them.
  await chain.rpc.checkChain()
  return { from, to, logs: found, isVerified: false, headers: headers.set(from, first) }
}

/** Reads the tail block by block, up to the one before the final block; yields the blocks of one second together. */
async function* readTail(
  chain: FollowedNodes,
  logs: LogSource,
  parent: Header,
  final: number,
): AsyncGenerator<BlockRange> {
  if (parent.number + 1 >= final) return
  let block = await nextBlock(chain, parent)
  let blocks: Header[] = []
  while (block.number < final) {
    const current = block
    blocks.push(current)
    block = await nextBlock(chain, current)
    if (block.ts === current.ts) continue
    const headers = new Map([...blocks, block].map((header) => [header.number, header]))
    const to = current.number
    yield { from: to - blocks.length + 1, to, headers, ...(await logs.ofSecond(blocks)) }
    blocks = []
  }
}

/**
 * Reads the block after a final one, and verifies its parent hash.
 * @throws {Contradiction} when its time is before that of its parent
 */
async function nextBlock({ rpc, config }: FollowedNodes, parent: Header): Promise<Header> {
  const explainBreak = breakExplainer(rpc, parent)
  const next = await blockBelowFinal(rpc, config.finality, parent.number + 1, (block) =>
    block.parentHash === parent.hash ? block : explainBreak(),
  )
  requireTimeOrder(parent, next)
  return next
}

/** Reads headers from a block on, up to the first one of a later second; null where there is none up to the final block. */
async function readToNextSecond(
  { rpc, config }: FollowedNodes,
  number: number,
  final: number,
): Promise<Map<number, Header> | null> {
  const headers = new Map<number, Header>()
  for (let next = number; next <= final; next++) {
    const header = await blockBelowFinal(rpc, config.finality, next)
    headers.set(next, header)
    if (header.ts !== headers.get(number)?.ts) return headers
  }
  return null
}
