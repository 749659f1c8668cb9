import type { Address } from 'viem'
import { Contradiction } from './errors.ts'
import { type ChainLog, keyOfLog } from './rpc/block.ts'
import { matcherOf, readAllLogs } from './rpc/bloom.ts'
import type { BlockState } from './rpc/multicall.ts'
import type { RangeWidth } from './rpc/nodes/range-width.ts'
import type { LogFilter } from './rpc/node.ts'
import type { Rpc } from './rpc/rpc.ts'
import type { ShareSupply } from './vaults/share-supply.ts'

/** Logs, and the vaults whose share supply they do not explain. */
export interface ExplainedLogs {
  readonly logs: ChainLog[]
  readonly lacking: readonly Address[]
}

/** Options of {@link readUntilExplained}. */
export interface LeftOutLogsOptions {
  readonly rpc: Rpc
  readonly supply: ShareSupply
  /** Returns the state at the end of a block. */
  readonly stateAt: (number: number) => Promise<BlockState>
  /** Returns the filters of the logs of vaults. */
  readonly filtersOf: (vaults: readonly Address[]) => readonly LogFilter[]
}

/** The ends of two blocks, between which logs were read. */
type Bounds = readonly [before: BlockState, after: BlockState]

/**
 * Reads the logs of a range of old blocks, and again block by block where the nodes have left out logs that are in their
 * block: some nodes cut long answers off. Vaults without such a log have shares that no log explains.
 * @throws {Contradiction} where the nodes leave logs out of the answers about blocks, too
 */
export async function readUntilExplained(
  read: () => Promise<ExplainedLogs>,
  bounds: Bounds,
  width: RangeWidth,
  options: LeftOutLogsOptions,
): Promise<ChainLog[]> {
  for (;;) {
    const { logs, lacking } = await read()
    const blocks = await Promise.all(lacking.map((vault) => leftOutIn(vault, logs, bounds, options)))
    const index = blocks.findIndex((block) => block !== null)
    const vault = lacking[index]
    if (vault === undefined) {
      options.supply.believe(lacking)
      return logs
    }
    if (width.distrust()) continue
    throw new Contradiction(`the nodes leave out logs of the vault ${vault} in block ${blocks[index]}`, vault)
  }
}

/**
 * Finds a block of which the nodes have left out a log of a vault: halves the range until one block is left whose logs do
 * not explain its change of the supply, and reads all logs of that block, which its bloom filter verifies.
 * @returns the number of the block; null where its logs are complete
 */
async function leftOutIn(
  vault: Address,
  logs: readonly ChainLog[],
  [before, after]: Bounds,
  { rpc, supply, stateAt, filtersOf }: LeftOutLogsOptions,
): Promise<number | null> {
  let [first, last] = [before, after]
  while (last.block.number - first.block.number > 1) {
    const middle = await stateAt(Math.floor((first.block.number + last.block.number) / 2))
    const { number: from } = first.block
    const between = logs.filter(({ block }) => block > from && block <= middle.block.number)
    const isLacking = (await supply.lacking([vault], between, [first, middle])).length > 0
    if (isLacking) last = middle
    else first = middle
  }
  const { number } = last.block
  const all = await rpc.ask(async (node) => readAllLogs(node, await node.block(number)))
  const known = new Set(logs.map(keyOfLog))
  const matchers = filtersOf([vault]).map(matcherOf)
  const isLeftOut = (log: ChainLog): boolean => !known.has(keyOfLog(log)) && matchers.some((matches) => matches(log))
  return all.some(isLeftOut) ? number : null
}
