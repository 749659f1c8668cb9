import { setTimeout as wait } from 'node:timers/promises'
import { type Header, type ChainLog, requireTimeOrder } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { FinalBlockMissing } from './errors.ts'
import { blockBelowFinal, breakExplainer, finalBlock } from './rpc/finality.ts'
import { WrongFinals } from './rpc/newest/wrong-finals.ts'
import type { Report } from './rpc/fault-watch.ts'
import type { LogSource } from './log-source.ts'
import { tailBlocks } from './rpc/log-ranges.ts'
import { RangeWidth } from './rpc/nodes/range-width.ts'
import type { Rpc } from './rpc/rpc.ts'

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

/** Options of {@link followChain}. */
export interface FollowOptions {
  readonly rpc: Rpc
  readonly logs: LogSource
  readonly finality: ChainConfig['finality']
  readonly pollSeconds: number
  /** The block before the first one. */
  readonly parent: Header
  /** Ends at the newest final block instead of waiting for more, but not before `until` where it is set. */
  readonly once: boolean
  /** Ends before this block: the first block of a second, which one of the nodes has reported as final. */
  readonly until?: number | undefined
  /** Reads the logs of the backfill block by block, too: answers about ranges have been incomplete. */
  readonly distrustsRanges?: boolean | undefined
  readonly signal: AbortSignal
  readonly report: Report
  /**
   * Called with the newest block that was read when there is no further final block; all facts before it have been
   * consumed.
   */
  readonly onEnd?: ((newest: Header) => Promise<void>) | undefined
}

/**
 * Reads the chain up to its final block, and as it grows: old blocks in ranges (the backfill), the newest ones block by block, by
 * their hashes and with verified parent hashes (the tail).
 * @throws {ChainDiverged} when a final block was reorganised
 * @throws {ChainUnreadable} when `once` is set, and nodes name wrong blocks as final again and again, for a minute
 */
export async function* followChain(options: FollowOptions): AsyncGenerator<BlockRange> {
  const { rpc, finality, pollSeconds, once, signal, until = Infinity } = options
  const width = new RangeWidth()
  if (options.distrustsRanges === true) width.distrust()
  const wrongFinals = new WrongFinals({ ...options, times: rpc.faultTimes })
  let last = options.parent
  for (;;) {
    const final = await finalBlock(rpc, finality)
    // A node of another, shorter chain would be waited for silently.
    if (final.number < last.number) await rpc.checkChain()
    try {
      for await (const range of readUpTo(options, last, final.number, width)) {
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
    await options.onEnd?.(last)
    await wait(pollSeconds * 1_000, undefined, { signal })
  }
}

/**
 * Waits until the first block of the vaults is final: a reorganisation may still replace it, and the block before it.
 * @returns false where it is not final and `once` is set
 * @throws {WrongChain} when a node serves another chain now
 */
export async function awaitFinal(
  firstBlock: number,
  { rpc, finality, pollSeconds, once, signal, report, onEnd }: Omit<FollowOptions, 'logs' | 'parent' | 'until'>,
): Promise<boolean> {
  for (let waits = false; ; waits = true) {
    const final = await finalBlock(rpc, finality)
    if (final.number >= firstBlock) return true
    if (!waits) {
      report('info', 'The first vault begins after the newest final block', { firstBlock, final: final.number })
    }
    if (!once) await onEnd?.(final)
    const pause = once ? null : wait(pollSeconds * 1_000, undefined, { signal })
    // A node of another, shorter chain would be waited for silently.
    await Promise.all([rpc.checkChain(), pause])
    if (once) return false
  }
}

/** Reads the blocks up to a final one: the backfill in ranges, the tail of newest blocks one by one. */
async function* readUpTo(options: FollowOptions, parent: Header, final: number, width: RangeWidth) {
  const { until = Infinity } = options
  let last = parent
  const oldest = Math.min(final - tailBlocks, until - 1)
  while (oldest > last.number) {
    const range = await readBackfillRange(options, last, oldest, width)
    yield range
    last = range.headers.get(range.to) as Header
  }
  yield* readTail(options, last, Math.min(final, until))
}

/** Reads one range of the backfill, as wide as the nodes permit. */
async function readBackfillRange(
  options: FollowOptions,
  parent: Header,
  limit: number,
  width: RangeWidth,
): Promise<BlockRange> {
  const { rpc, logs } = options
  const first = await nextBlock(options, parent)
  const headers = await readToNextSecond(options, Math.min(parent.number + width.blocks, limit))
  const [from, to] = [first.number, Math.max(...headers.keys()) - 1]
  const found = await logs.ofRange(from, to, width)
  // Parent hashes do not cover the blocks in between: a node of another chain would return no logs for them.
  await rpc.checkChain()
  return { from, to, logs: found, isVerified: false, headers: headers.set(from, first) }
}

/** Reads the tail block by block, up to the one before the final block; yields the blocks of one second together. */
async function* readTail(options: FollowOptions, parent: Header, final: number): AsyncGenerator<BlockRange> {
  if (parent.number + 1 >= final) return
  let block = await nextBlock(options, parent)
  let blocks: Header[] = []
  while (block.number < final) {
    const current = block
    blocks.push(current)
    block = await nextBlock(options, current)
    if (block.ts === current.ts) continue
    const headers = new Map([...blocks, block].map((header) => [header.number, header]))
    const to = current.number
    yield { from: to - blocks.length + 1, to, headers, ...(await options.logs.ofSecond(blocks)) }
    blocks = []
  }
}

/**
 * Reads the block after a final one, and verifies its parent hash.
 * @throws {Contradiction} when its time is before that of its parent
 */
async function nextBlock({ rpc, finality }: FollowOptions, parent: Header): Promise<Header> {
  const explainBreak = breakExplainer(rpc, parent)
  const next = await blockBelowFinal(rpc, finality, parent.number + 1, (block) =>
    block.parentHash === parent.hash ? block : explainBreak(),
  )
  requireTimeOrder(parent, next)
  return next
}

/** Reads headers from a block on, up to the first one of a later second. */
async function readToNextSecond({ rpc, finality }: FollowOptions, number: number): Promise<Map<number, Header>> {
  const headers = new Map<number, Header>()
  for (let next = number; ; next++) {
    const header = await blockBelowFinal(rpc, finality, next)
    headers.set(next, header)
    if (header.ts !== headers.get(number)?.ts) return headers
  }
}
