import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../feed/fact/fact.ts'
import { initialPositions } from './initial-positions.ts'
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
import { readHistory } from './rpc/log-ranges.ts'
import type { Report, Rpc } from './rpc/rpc.ts'
import type { BlockFactsOptions } from './block-facts.ts'
import { BlockState } from './rpc/multicall.ts'

/** Seconds that are valued at the same time. */
const mostAhead = 8
/** How often logs that contradict the contracts are read again. */
const mostRereadings = 5
const rereadSeconds = 1
/** So many at once are history, of which it is good to know that it goes on. */
const newsworthyBlocks = 64

/** The block that a reader goes on from: the first one of a second it told of. */
export type ResumePoint = Pick<Header, 'number' | 'hash'>

/** The facts of a second, and where it began. */
export interface BlockFactsBatch {
  readonly start: ResumePoint
  readonly facts: readonly FactInput[]
}

export interface ReaderOptions extends BlockFactsOptions {
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends it at the newest final block instead of waiting for more. */
  readonly once: boolean
  /** Is told of the newest block that was read, each time that there is no more; all facts of it were taken then. */
  readonly onEnd?: ((newest: Header) => Promise<void>) | undefined
}

/**
 * Tells of vaults as facts, second by second, from the first block of the first vault, or from where a reader was. The
 * same chain gives the same facts, wherever it begins.
 * @throws {ChainError} where no waiting helps
 */
export async function* readFacts(
  options: ReaderOptions,
  start: ResumePoint | null,
): AsyncGenerator<BlockFactsBatch, void> {
  const progress: Progress = { from: start, told: -1, rereadings: 0 }
  for (;;) {
    try {
      return yield* readOn(options, progress)
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error
      if (++progress.rereadings > mostRereadings) throw new LogsIncomplete(error.message)
      options.report('warn', 'The chain is read again', { reason: error.message })
      await wait(rereadSeconds * 1_000, undefined, { signal: options.signal })
    }
  }
}

interface Progress {
  from: ResumePoint | null
  /** The block of the second that was told of last. */
  told: number
  /** Since then. */
  rereadings: number
}

/** What wasn't told yet. */
async function* readOn(options: ReaderOptions, progress: Progress): AsyncGenerator<BlockFactsBatch, void> {
  for await (const next of readFrom(options, progress.from)) {
    if (next.start.number <= progress.told) continue
    Object.assign(progress, { from: next.start, told: next.start.number, rereadings: 0 })
    yield next
  }
}

async function* readFrom(options: ReaderOptions, start: ResumePoint | null): AsyncGenerator<BlockFactsBatch, void> {
  const { config, rpc, venue, multicall, once, signal, onEnd } = options
  const vaults = config.vaults.map(({ address }) => address)
  const firstBlock = Math.min(...config.vaults.map((vault) => vault.firstBlock))
  const parent = await parentOf(rpc, start, firstBlock)
  const holdings = await initialPositions(parent, {
    rpc,
    multicall,
    venue,
    vaults,
    history: (ids) => readHistory(rpc, [...venue.movesOf(vaults), ...venue.changesOf(ids)], firstBlock, parent.number),
  })
  const logs = createLogSource(rpc, vaults, holdings)
  const { finality, pollSeconds } = config
  for await (const segment of followChain({ rpc, logs, finality, pollSeconds, parent, once, signal, onEnd })) {
    if (segment.to - segment.from >= newsworthyBlocks) {
      options.report('info', 'Reading the chain', { from: segment.from, to: segment.to })
    }
    const moments = await momentsOf(segment, options, holdings)
    const end = segment.headers.get(segment.to)
    if (!segment.isWhole && end !== undefined) await checkHoldings(new BlockState(rpc, multicall, end), holdings)
    yield* ahead(moments, (moment) => tell(moment, options))
  }
}

async function tell(moment: TimestampBlocks, options: ReaderOptions): Promise<BlockFactsBatch> {
  const [first] = moment.blocks
  return { start: first?.header ?? moment.end, facts: await timestampFacts(moment, options) }
}

/** The block before the one to begin with, which must be the one that was read. */
function parentOf(rpc: Rpc, start: ResumePoint | null, firstBlock: number): Promise<Header> {
  return rpc.ask(async (node) => {
    if (start === null) return node.block(firstBlock - 1)
    const block = await node.block(start.number)
    if (block.hash !== start.hash) await explainBreak(rpc, start)
    const parent = await node.block(start.number - 1)
    return parent.hash === block.parentHash ? parent : explainBreak(rpc, start)
  })
}

/** The seconds of a segment in which there is something to tell. */
async function momentsOf(segment: Segment, options: ReaderOptions, holdings: Holdings): Promise<TimestampBlocks[]> {
  const { config, rpc, venue, multicall } = options
  const known = new Map(segment.headers)
  const headerAt = async (number: number): Promise<Header> => {
    const header = known.get(number) ?? (await rpc.ask((node) => node.block(number)))
    known.set(number, header)
    return header
  }
  const plans = await planBlocks(segment, {
    ...config,
    holdings,
    readLiquidity: async (id, number) => {
      const state = new BlockState(rpc, multicall, await headerAt(number))
      return (await venue.storedOf(state, id))?.liquidity ?? 0n
    },
  })
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

/** Works on some ahead of those that are given, in order. */
async function* ahead<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): AsyncGenerator<Out> {
  const running: Promise<Out>[] = []
  for (const item of items) {
    const promise = work(item)
    // It is awaited in its turn, and may fail before.
    promise.catch(() => undefined)
    running.push(promise)
    if (running.length === mostAhead) yield await (running.shift() as Promise<Out>)
  }
  for (const promise of running) yield await promise
}
