import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../feed/fact/fact.ts'
import { initialPositions } from './initial-positions.ts'
import { readArrivals } from './valuation/arrivals.ts'
import type { Header } from './rpc/block.ts'
import { checkHoldings } from './valuation/check-holdings.ts'
import type { ChainConfig } from './config.ts'
import { Contradiction, LogsIncomplete } from './errors.ts'
import { timestampFacts, type TimestampBlocks } from './timestamp-facts.ts'
import { explainBreak } from './rpc/finality.ts'
import { followChain, type Segment } from './follow.ts'
import { groupBy } from './rpc/arrays.ts'
import type { Holdings } from './valuation/holdings.ts'
import { createLogSource } from './log-source.ts'
import { planBlocks } from './block-plan.ts'
import type { Report } from './rpc/fault-watch.ts'
import type { Rpc } from './rpc/rpc.ts'
import type { BlockFactsOptions } from './block-facts.ts'
import { BlockState } from './rpc/multicall.ts'

/** Maximum number of seconds that are valued concurrently. */
const maxConcurrentSeconds = 8
/** Maximum number of retries where logs and contracts disagree. */
const maxRereads = 5
const rereadSeconds = 1
/** Ranges of at least this many blocks are reported, to show the progress of a long history. */
const reportedRangeBlocks = 64

/** The block to resume from: the first block of a second with facts. */
export type ResumePoint = Pick<Header, 'number' | 'hash'>

/** The facts of one second, with its first block. */
export interface BlockFactsBatch {
  readonly start: ResumePoint
  readonly facts: readonly FactInput[]
}

/** Options of {@link readFacts}. */
export interface ReaderOptions extends BlockFactsOptions {
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends at the newest final block instead of waiting for more. */
  readonly once: boolean
  /**
   * Called with the newest block that was read when there is no further final block; all of its facts have been
   * consumed.
   */
  readonly onEnd?: ((newest: Header) => Promise<void>) | undefined
}

/**
 * Reads vaults as facts, second by second, from the first block of the first vault or from where an earlier reader
 * stopped. The same chain yields the same facts, wherever reading resumes.
 * @throws {ChainError} when a retry cannot help
 */
export async function* readFacts(
  options: ReaderOptions,
  start: ResumePoint | null,
): AsyncGenerator<BlockFactsBatch, void> {
  const progress: Progress = { from: start, lastStart: -1, rereads: 0 }
  for (;;) {
    try {
      return yield* readOn(options, progress)
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error
      if (++progress.rereads > maxRereads) throw new LogsIncomplete(error.message)
      options.report('warn', 'The chain is read again', { reason: error.message })
      await wait(rereadSeconds * 1_000, undefined, { signal: options.signal })
    }
  }
}

interface Progress {
  from: ResumePoint | null
  /** First block of the last second that was yielded. */
  lastStart: number
  /** Retries since then. */
  rereads: number
}

/** Yields the facts that were not yielded yet. */
async function* readOn(options: ReaderOptions, progress: Progress): AsyncGenerator<BlockFactsBatch, void> {
  for await (const next of readFrom(options, progress.from)) {
    if (next.start.number <= progress.lastStart) continue
    Object.assign(progress, { from: next.start, lastStart: next.start.number, rereads: 0 })
    yield next
  }
}

async function* readFrom(options: ReaderOptions, start: ResumePoint | null): AsyncGenerator<BlockFactsBatch, void> {
  const { config, rpc, multicall, once, signal, onEnd } = options
  const vaults = config.vaults.map(({ address }) => address)
  const firstBlock = Math.min(...config.vaults.map((vault) => vault.firstBlock))
  const parent = await parentOf(rpc, start, firstBlock)
  const holdings = await initialPositions(parent, { ...options, vaults })
  const logs = createLogSource(options, vaults, holdings)
  const { finality, pollSeconds } = config
  for await (const segment of followChain({ rpc, logs, finality, pollSeconds, parent, once, signal, onEnd })) {
    if (segment.to - segment.from >= reportedRangeBlocks) {
      options.report('info', 'Reading the chain', { from: segment.from, to: segment.to })
    }
    const seconds = await planSeconds(segment, options, holdings)
    const end = segment.headers.get(segment.to)
    if (!segment.isWhole && end !== undefined) await checkHoldings(new BlockState(rpc, multicall, end), holdings)
    yield* mapConcurrently(seconds, (second) => readBatch(second, options))
  }
}

async function readBatch(second: TimestampBlocks, options: ReaderOptions): Promise<BlockFactsBatch> {
  const [first] = second.blocks
  return { start: first?.header ?? second.end, facts: await timestampFacts(second, options) }
}

/**
 * Returns the block before the first one to read, after verifying that the chain still contains the block to resume
 * from.
 */
function parentOf(rpc: Rpc, start: ResumePoint | null, firstBlock: number): Promise<Header> {
  return rpc.ask(async (node) => {
    if (start === null) return node.block(firstBlock - 1)
    const block = await node.block(start.number)
    if (block.hash !== start.hash) await explainBreak(rpc, start)
    const parent = await node.block(start.number - 1)
    return parent.hash === block.parentHash ? parent : explainBreak(rpc, start)
  })
}

/** Returns the seconds of a segment that have facts. */
async function planSeconds(segment: Segment, options: ReaderOptions, holdings: Holdings): Promise<TimestampBlocks[]> {
  const { config, rpc } = options
  const known = new Map(segment.headers)
  const headerAt = async (number: number): Promise<Header> => {
    const header = known.get(number) ?? (await rpc.ask((node) => node.block(number)))
    known.set(number, header)
    return header
  }
  const { number, parentHash } = await headerAt(segment.from)
  const before = { number: number - 1, hash: parentHash }
  const bounds = { before, end: await headerAt(segment.to), headerAt }
  holdings.expect(await readArrivals(segment.logs, holdings, bounds, options))
  const plans = planBlocks(segment, { ...config, holdings })
  const placed = await Promise.all(plans.map(async (plan) => ({ plan, header: await headerAt(plan.number) })))
  for (const { plan, header } of placed) {
    const stray = plan.events.find(({ log }) => log.blockHash !== header.hash)
    if (stray !== undefined)
      throw new Contradiction(`block ${header.number} is ${header.hash}, ${stray.log.blockHash} by the logs`)
  }
  const seconds = [...groupBy(placed, ({ header }) => header.ts).values()]
  return Promise.all(
    seconds.map(async (blocks) => {
      let end = (blocks.at(-1) as (typeof blocks)[number]).header
      for (let next = await headerAt(end.number + 1); next.ts === end.ts; next = await headerAt(end.number + 1))
        end = next
      return { blocks, end }
    }),
  )
}

/** Maps items with bounded concurrency, and yields the results in order. */
async function* mapConcurrently<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): AsyncGenerator<Out> {
  const running: Promise<Out>[] = []
  for (const item of items) {
    const promise = work(item)
    // Awaited later, and may reject before.
    promise.catch(() => undefined)
    running.push(promise)
    if (running.length === maxConcurrentSeconds) yield await (running.shift() as Promise<Out>)
  }
  for (const promise of running) yield await promise
}
