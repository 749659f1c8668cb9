import { type Address, zeroAddress } from 'viem'
import { type ChainLog, sortLogs } from '../rpc/block.ts'
import { ChainUnreadable, ContractMismatch, Contradiction, SeveralMismatches } from '../errors.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { Report } from '../rpc/fault-watch.ts'
import { readNewestLogs } from '../rpc/log-ranges.ts'
import { RangeWidth } from '../rpc/nodes/range-width.ts'
import type { LogFilter } from '../rpc/node.ts'
import { afterChange, newPosition, type PositionState, verifyState } from './position-state.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

/** Number of blocks of history after which progress is reported; reported again whenever the number has doubled. */
const reportedBlocks = 10_000
/** Greatest width of a range: for a refused one, the retry helper lists all ranges that replace it. */
const maxBlocks = 1_000_000

/** Options of {@link readPositionStates}. */
export interface PositionHistoryOptions {
  /** Nodes for which a lasting fault soon throws an error: anyone can send a vault an old position. */
  readonly impatientRpc: Rpc
  readonly venues: Venues
  /** Returns the vault of a position; undefined where it is unknown. */
  readonly vaultOf?: (id: string) => Address | undefined
  readonly report: Report
}

/**
 * Determines the state of positions at the end of a block. Only the logs since a position's creation show which part of
 * its uncollected amounts is withdrawn liquidity; without uncollected amounts no logs are read.
 * @param block number of the block
 * @param stored the positions as the venues' contracts store them at the end of that block
 * @throws {Contradiction} when logs and contract disagree
 * @throws {ContractMismatch} with the vault of a position whose logs the nodes lack
 * @throws {SeveralMismatches} where the nodes lack logs of several vaults' positions
 */
export async function readPositionStates(
  { venues, vaultOf = () => undefined, ...options }: PositionHistoryOptions,
  block: number,
  stored: ReadonlyMap<string, StoredPosition>,
): Promise<Map<string, PositionState>> {
  const owing = [...stored]
    .filter(([id, { credited }]) => venues.lists(id) && credited.some((amount) => amount > 0n))
    .map(([id]) => id)
  const replayed = replay(venues, owing, await readChangesOf({ venues, vaultOf, ...options }, block, owing))
  return new Map(
    [...stored].map(([id, position]) => {
      const state = replayed.get(id) ?? { ...newPosition, liquidity: position.liquidity }
      verifyState(block, id, state, position, vaultOf(id))
      return [id, state]
    }),
  )
}

/**
 * Reads all logs of positions up to a block: backwards, until the creation of each is found. Anyone can send a vault a
 * position as old as the chain. The logs of one position are few, so that ranges double as long as the nodes grant
 * them. A range ends at the newest unread block, and is narrowed where it reaches pruned logs before the creation.
 * @throws {ContractMismatch | SeveralMismatches} with the vaults, where the nodes lack these logs
 */
async function readChangesOf(
  options: PositionHistoryOptions,
  block: number,
  ids: readonly string[],
): Promise<ChainLog[]> {
  const { impatientRpc, venues, vaultOf = () => undefined, report } = options
  const logs: ChainLog[] = []
  const sought = new Set(ids)
  const width = new RangeWidth(maxBlocks)
  let byVault: Map<Address | undefined, RangeWidth> | null = null
  let nextReport = reportedBlocks
  for (let to = block; sought.size > 0;) {
    const [id] = sought
    if (to < 0) {
      const problem = `position ${id} of block ${block} has no log of its creation`
      throw new Contradiction(problem, id === undefined ? undefined : vaultOf(id))
    }
    if (block - to >= nextReport) {
      report('info', 'Reading the logs of positions since their creation', { positions: sought.size, one: id, to })
      nextReport = 2 * (block - to)
    }
    const found =
      byVault === null
        ? await readNewestLogs(impatientRpc, filtersOf(venues, [...sought]), to, width).catch(unreadable)
        : await readByVault(options, [...sought], { block, to }, byVault)
    if (found instanceof ChainUnreadable) {
      byVault = new Map()
      continue
    }
    logs.push(...found.logs)
    for (const log of found.logs) {
      const change = venues.decodeLog(log)
      if (change?.kind === 'moved' && change.from === zeroAddress) sought.delete(change.id)
    }
    to = found.from - 1
  }
  return sortLogs(logs)
}

function filtersOf(venues: Venues, ids: readonly string[]): LogFilter[] {
  return [...venues.changesOf(ids), ...venues.creationsOf(ids)]
}

function unreadable(error: unknown): ChainUnreadable {
  if (error instanceof ChainUnreadable) return error
  throw error
}

/**
 * Reads the newest logs vault by vault, after those of all were not to be had together: nodes that have pruned them lack
 * them for all vaults, and may refuse the filter of one alone. A vault's ranges begin with one block.
 * @param widths those of the vaults, which this function adds
 * @throws {ContractMismatch | SeveralMismatches} with the vaults of which the nodes lack the logs of one block
 */
async function readByVault(
  { impatientRpc, venues, vaultOf = () => undefined }: PositionHistoryOptions,
  ids: readonly string[],
  { block, to }: { readonly block: number; readonly to: number },
  widths: Map<Address | undefined, RangeWidth>,
): Promise<{ logs: ChainLog[]; from: number }> {
  const readOf = async (vault: Address | undefined, some: readonly string[]) => {
    const width = widths.get(vault) ?? narrow(new RangeWidth(maxBlocks))
    widths.set(vault, width)
    const read = () => readNewestLogs(impatientRpc, filtersOf(venues, some), to, width).catch(unreadable)
    const isNarrow = width.blocks === 1
    const first = await read()
    if (isNarrow || !(first instanceof ChainUnreadable)) return first
    narrow(width)
    return read()
  }
  const lacking = (vault: Address | undefined, [id]: readonly string[], error: ChainUnreadable): ContractMismatch => {
    if (vault === undefined) throw error
    const problem = `holds position ${id}, whose logs since its creation can't be read (${error.message}),`
    return new ContractMismatch(vault, block, problem, vault)
  }
  const found = await Promise.all(
    Array.from(groupBy(ids, vaultOf), async ([vault, some]) => {
      const read = await readOf(vault, some)
      return read instanceof ChainUnreadable ? lacking(vault, some, read) : read
    }),
  )
  const mismatches = found.filter((one) => one instanceof ContractMismatch)
  const [first] = mismatches
  if (first !== undefined) throw mismatches.length === 1 ? first : new SeveralMismatches(mismatches)
  const read = found.flatMap((one) => (one instanceof ContractMismatch ? [] : [one]))
  const from = Math.max(...read.map((one) => one.from))
  // Earlier logs are those of some vaults only, and are read again.
  return { logs: read.flatMap(({ logs }) => logs.filter(({ block: at }) => at >= from)), from }
}

/** Starts again with ranges of one block. */
function narrow(width: RangeWidth): RangeWidth {
  width.blocks = 1
  return width
}

function replay(venues: Venues, ids: readonly string[], logs: readonly ChainLog[]): Map<string, PositionState> {
  const states = new Map(ids.map((id) => [id, newPosition]))
  for (const log of logs) {
    const change = venues.decodeLog(log)
    if (change === null || change.kind === 'moved') continue
    states.set(change.id, afterChange(states.get(change.id) ?? newPosition, change))
  }
  return states
}
