import type { Address } from 'viem'
import { Contradiction } from './errors.ts'
import { type ChainLog, keyOfLog } from './rpc/block.ts'
import { matcherOf, readAllLogs } from './rpc/bloom.ts'
import type { BlockState } from './rpc/multicall.ts'
import type { RangeWidth } from './rpc/nodes/range-width.ts'
import type { LogFilter } from './rpc/node.ts'
import type { Rpc } from './rpc/rpc.ts'
import type { ExplainedState } from './vaults/explained-state.ts'

/** Logs, and the vaults whose state they do not explain. */
export interface ExplainedLogs {
  readonly logs: ChainLog[]
  readonly lacking: readonly Address[]
}

/** Options of {@link readUntilExplained}. */
export interface LeftOutLogsOptions {
  readonly rpc: Rpc
  readonly explained: ExplainedState
  /** Returns the state at the end of a block. */
  readonly stateAt: (number: number) => Promise<BlockState>
  /** Returns the filters of the logs of vaults. */
  readonly filtersOf: (vaults: readonly Address[]) => readonly LogFilter[]
}

/** Maximum number of blocks of a range whose logs are all read: a vault may have many changes that no log explains. */
const maxExamined = 8

/** The ends of two blocks, between which logs were read. */
type Bounds = readonly [before: BlockState, after: BlockState]

/**
 * Reads the logs of a range of old blocks, and again block by block where the nodes have told other logs than their
 * block has: some nodes cut long answers off. Other vaults have changes that no log explains.
 * @throws {Contradiction} where the nodes tell other logs in the answers about blocks, too
 */
export async function readUntilExplained(
  read: () => Promise<ExplainedLogs>,
  bounds: Bounds,
  width: RangeWidth,
  options: LeftOutLogsOptions,
): Promise<ChainLog[]> {
  for (;;) {
    const { logs, lacking } = await read()
    const blocks = await Promise.all(lacking.map((vault) => wrongBlock(vault, logs, bounds, options)))
    const index = blocks.findIndex((block) => block !== null)
    const vault = lacking[index]
    if (vault === undefined) return logs
    if (width.distrust()) continue
    throw new Contradiction(
      `the nodes leave out logs of the vault ${vault} in block ${blocks[index]}, or tell others`,
      vault,
    )
  }
}

/**
 * Finds a block of which the nodes have left out a log of a vault, or told one that is not there: halves the range down
 * to the first blocks whose logs do not explain the vault's change, and reads all logs of these blocks, which their bloom
 * filters verify.
 * @returns the number of the block; null where the logs of these blocks are right
 */
async function wrongBlock(
  vault: Address,
  logs: readonly ChainLog[],
  bounds: Bounds,
  options: LeftOutLogsOptions,
): Promise<number | null> {
  const { explained, stateAt } = options
  const parts = [bounds]
  for (let examined = 0; examined < maxExamined;) {
    const part = parts.pop()
    if (part === undefined) return null
    const [from, to] = part.map(({ block }) => block.number) as [number, number]
    const told = logs.filter(({ block }) => block > from && block <= to)
    if ((await explained.lacking([vault], told, part)).length === 0) continue
    if (to - from > 1) {
      const middle = await stateAt(Math.floor((from + to) / 2))
      parts.push([middle, part[1]], [part[0], middle])
      continue
    }
    if (await isWrong(vault, told, to, options)) return to
    examined++
  }
  return null
}

/** Returns whether the logs about a vault that were told of a block are others than it has. */
async function isWrong(
  vault: Address,
  told: readonly ChainLog[],
  block: number,
  { rpc, filtersOf }: LeftOutLogsOptions,
): Promise<boolean> {
  const all = await rpc.ask(async (node) => readAllLogs(node, await node.block(block)))
  const matchers = filtersOf([vault]).map(matcherOf)
  const keysOf = (logs: readonly ChainLog[]): Set<string> =>
    new Set(logs.filter((log) => matchers.some((matches) => matches(log))).map(keyOfLog))
  const [some, whole] = [keysOf(told), keysOf(all)]
  return some.size !== whole.size || [...some].some((key) => !whole.has(key))
}
