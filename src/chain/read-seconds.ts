import { initialPositions } from './positions/initial-positions.ts'
import type { Header } from './rpc/block.ts'
import { emptyConfirmations } from './rpc/contract-existence.ts'
import { checkHoldings } from './positions/check-holdings.ts'
import { readSecondFacts, type SecondBlocks, type SecondFacts } from './facts/second-facts.ts'
import { breakExplainer } from './rpc/finality.ts'
import { awaitFinal, followChain } from './follow.ts'
import { createLogSource } from './log-source.ts'
import { planSeconds } from './facts/plan-seconds.ts'
import type { Rpc } from './rpc/rpc.ts'
import type { ChainConnection, ReadAttempt, Reading, ResumePoint, VaultGroup } from './reading.ts'
import { BlockState } from './rpc/multicall.ts'

/** Maximum number of seconds that are valued concurrently. */
const maxConcurrentSeconds = 8
/** Ranges of at least this many blocks are reported, to show the progress of a long history. */
const reportedRangeBlocks = 64

/** Reads vaults as facts, second by second, up to the first error. With it, all requests end that are still in flight. */
export async function* readSeconds(
  connection: ChainConnection,
  group: VaultGroup,
  reading: Reading,
  attempt: ReadAttempt,
): AsyncGenerator<SecondFacts, void> {
  const ending = new AbortController()
  const chain = { ...connection, rpc: connection.rpc.endingAt(ending.signal) }
  const reads: Promise<SecondFacts>[] = []
  try {
    yield* readUpToError(chain, group, reading, attempt, reads)
  } finally {
    ending.abort()
    // The next attempt shares caches with these.
    await Promise.allSettled(reads)
  }
}

/** @param reads receives the pending reads of seconds */
async function* readUpToError(
  chain: ChainConnection,
  { vaults, from }: VaultGroup,
  reading: Reading,
  attempt: ReadAttempt,
  reads: Promise<SecondFacts>[],
): AsyncGenerator<SecondFacts, void> {
  const { config, rpc, multicall, report } = chain
  const { onHead, until, isApplied } = reading
  const { distrustsRanges, blamesContract } = attempt
  const firstBlock = Math.min(...vaults.map((vault) => vault.firstBlock))
  if (from === null && !(await awaitFinal(firstBlock, chain, onHead))) return
  const parent = await parentOf(rpc, from, firstBlock)
  const holdings = await initialPositions(parent, { ...chain, vaults })
  const addresses = vaults.map(({ address }) => address)
  const logs = createLogSource(chain, addresses, holdings)
  const { markEveryBlocks } = config
  for await (const range of followChain(chain, { logs, parent, until, distrustsRanges, onHead })) {
    if (range.to - range.from >= reportedRangeBlocks) {
      report('info', 'Reading the chain', { from: range.from, to: range.to })
    }
    const seconds = await planSeconds(range, holdings, chain, { vaults, markEveryBlocks, isApplied, blamesContract })
    const end = range.headers.get(range.to)
    if (!range.isVerified && end !== undefined) await checkHoldings(new BlockState(rpc, multicall, end), holdings)
    yield* mapConcurrently(seconds, (second) => confirmFaults(second, chain), reads)
    attempt.onRead(range.to)
  }
}

/** Reads the facts of a second. A vault's fault counts once repeated reads, at the next nodes, confirm it. */
async function confirmFaults(second: SecondBlocks, chain: ChainConnection): Promise<SecondFacts> {
  let read = await readSecondFacts(second, chain)
  if (read.faults.size > 0) await chain.rpc.checkChain()
  for (let reading = 1; reading < emptyConfirmations && read.faults.size > 0; reading++) {
    chain.rpc.newest.forgetAll()
    chain.rpc.useAllNodes()
    read = await readSecondFacts(second, chain)
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

/**
 * Maps items with bounded concurrency, and yields the results in order.
 * @param running receives the pending results
 */
async function* mapConcurrently<In, Out>(
  items: readonly In[],
  work: (item: In) => Promise<Out>,
  running: Promise<Out>[],
): AsyncGenerator<Out> {
  for (const item of items) {
    const promise = work(item)
    // Awaited later: avoids an unhandled rejection until then.
    promise.catch(() => undefined)
    running.push(promise)
    if (running.length === maxConcurrentSeconds) yield await (running.shift() as Promise<Out>)
  }
  while (running.length > 0) yield await (running.shift() as Promise<Out>)
}
