import { initialPositions } from './positions/initial-positions.ts'
import type { Header } from './rpc/block.ts'
import { emptyConfirmations } from './rpc/contract-existence.ts'
import { checkHoldings } from './positions/check-holdings.ts'
import type { ChainConfig } from './config.ts'
import { readSecondFacts, type SecondBlocks, type SecondFacts } from './facts/second-facts.ts'
import { breakExplainer } from './rpc/finality.ts'
import { awaitFinal, followChain } from './follow.ts'
import { createLogSource } from './log-source.ts'
import { type IsApplied, planSeconds } from './facts/plan-seconds.ts'
import type { Report } from './rpc/fault-watch.ts'
import type { Rpc } from './rpc/rpc.ts'
import type { BlockFactsOptions } from './facts/block-values.ts'
import { BlockState } from './rpc/multicall.ts'

/** Maximum number of seconds that are valued concurrently. */
const maxConcurrentSeconds = 8
/** Ranges of at least this many blocks are reported, to show the progress of a long history. */
const reportedRangeBlocks = 64

/** The block to resume from: the first block of a second with facts. */
export type ResumePoint = Pick<Header, 'number' | 'hash'>

/** The connections to a chain, and the contract data that were read for its configuration. */
export interface ChainConnection extends BlockFactsOptions {
  readonly config: ChainConfig
  readonly report: Report
  readonly signal: AbortSignal
  /** Ends at the newest final block instead of waiting for more. */
  readonly once: boolean
}

/** Options of {@link readSeconds}. */
export interface ReaderOptions extends ChainConnection {
  /** Identifies applied facts, which are not read again. */
  readonly isApplied: IsApplied
  /** Ends before this block. */
  readonly until?: number | undefined
  /** Reads the logs of the backfill block by block, too: answers about ranges have been incomplete. */
  readonly distrustsRanges?: boolean | undefined
  /** Whether a log that can't be decoded is its contract's fault, rather than that of one node. */
  readonly blamesContract?: boolean | undefined
  /**
   * Called with the newest block that was read when there is no further final block; all of its facts have been
   * consumed.
   */
  readonly onEnd?: ((newest: Header) => Promise<void>) | undefined
  /** Called with the number of a block when the facts of all blocks up to it have been read and consumed. */
  readonly onRead?: ((block: number) => void) | undefined
}

/**
 * Reads the vaults of a configuration as facts, second by second.
 * @param start block to start from; null for the first block of the first vault
 */
export async function* readSeconds(
  options: ReaderOptions,
  start: ResumePoint | null,
): AsyncGenerator<SecondFacts, void> {
  const { config, rpc, multicall, once, signal, report, onEnd, until, distrustsRanges } = options
  const { finality, pollSeconds } = config
  const followed = { rpc, finality, pollSeconds, once, signal, report, onEnd }
  const vaults = config.vaults.map(({ address }) => address)
  const firstBlock = Math.min(...config.vaults.map((vault) => vault.firstBlock))
  if (start === null && !(await awaitFinal(firstBlock, followed))) return
  const parent = await parentOf(rpc, start, firstBlock)
  const holdings = await initialPositions(parent, { ...options, vaults: config.vaults })
  const logs = createLogSource(options, vaults, holdings)
  for await (const range of followChain({ ...followed, logs, parent, until, distrustsRanges })) {
    if (range.to - range.from >= reportedRangeBlocks) {
      report('info', 'Reading the chain', { from: range.from, to: range.to })
    }
    const seconds = await planSeconds(range, options, holdings)
    const end = range.headers.get(range.to)
    if (!range.isVerified && end !== undefined) await checkHoldings(new BlockState(rpc, multicall, end), holdings)
    yield* mapConcurrently(seconds, (second) => confirmFaults(second, options))
    options.onRead?.(range.to)
  }
}

/** Reads the facts of a second. A vault's fault counts once repeated reads, at the next nodes, confirm it. */
async function confirmFaults(second: SecondBlocks, options: ReaderOptions): Promise<SecondFacts> {
  let read = await readSecondFacts(second, options)
  if (read.faults.size > 0) await options.rpc.checkChain()
  for (let reading = 1; reading < emptyConfirmations && read.faults.size > 0; reading++) {
    options.rpc.newest.forgetAll()
    options.rpc.useAllNodes()
    read = await readSecondFacts(second, options)
  }
  return read
}

/**
 * Returns the block before the first one to read, after verifying that the chain still contains the block to resume
 * from.
 */
function parentOf(rpc: Rpc, start: ResumePoint | null, firstBlock: number): Promise<Header> {
  if (start === null) return rpc.ask((node) => node.block(firstBlock - 1))
  const explainBreak = breakExplainer(rpc, start)
  return rpc.ask(async (node) => {
    const block = await node.block(start.number)
    if (block.hash !== start.hash) await explainBreak()
    const parent = await node.block(start.number - 1)
    return parent.hash === block.parentHash ? parent : explainBreak()
  })
}

/** Maps items with bounded concurrency, and yields the results in order. */
async function* mapConcurrently<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): AsyncGenerator<Out> {
  const running: Promise<Out>[] = []
  for (const item of items) {
    const promise = work(item)
    // Awaited later: avoids an unhandled rejection until then.
    promise.catch(() => undefined)
    running.push(promise)
    if (running.length === maxConcurrentSeconds) yield await (running.shift() as Promise<Out>)
  }
  for (const promise of running) yield await promise
}
