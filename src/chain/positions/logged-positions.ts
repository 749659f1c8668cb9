import type { Address } from 'viem'
import { Contradiction } from '../errors.ts'
import { forEachYielding, groupBy } from '../rpc/arrays.ts'
import { type ChainLog, compareLogs, type Header } from '../rpc/block.ts'
import { readLogRange } from '../rpc/log-ranges.ts'
import { RangeWidth } from '../rpc/nodes/range-width.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { StoredPosition, Venue } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

/** Options of {@link findLogged}. */
export interface LoggedPositionsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  /** Number of blocks in each step of the search, which runs from the newest to the oldest; 10,000 by default. */
  readonly windowBlocks?: number
}

/** An account that holds positions for a vault. */
export interface HoldingAccount {
  readonly vault: Address
  readonly account: Address
}

/** A position of an account, with the log of its arrival. */
export interface LoggedPosition extends HoldingAccount {
  readonly id: string
  readonly arrival: ChainLog
}

/**
 * Finds the positions of accounts in a venue whose contract only counts them: reads transfers backwards until they
 * account for all positions.
 * @throws {Contradiction} when the transfers account for another number of positions
 */
export async function findLogged(
  block: Pick<Header, 'number' | 'hash'>,
  venue: Venue,
  accounts: readonly HoldingAccount[],
  { rpc, multicall, windowBlocks = 10_000 }: LoggedPositionsOptions,
): Promise<LoggedPosition[]> {
  const state = new BlockState(rpc, multicall, block)
  const counts = await Promise.all(accounts.map(async ({ account }) => (await venue.list?.count(state, account)) ?? 0))
  const sought = accounts.map((one, index) => ({
    ...one,
    count: counts[index] ?? 0,
    found: new Map<string, ChainLog>(),
  }))
  const left = (): typeof sought => sought.filter(({ found, count }) => found.size < count)
  const moved = new Set<string>()
  const width = new RangeWidth()
  for (let to = block.number; left().length > 0; to -= windowBlocks) {
    if (to < 0) break
    // Accounts that are complete are not read any more, so that a position's newest transfer may be missing for them.
    const read = left()
    const filters = venue.movesOf(read.map(({ account }) => account))
    const logs = await readLogRange(rpc, filters, Math.max(0, to - windowBlocks + 1), to, width)
    for (const log of logs.reverse()) {
      const change = venue.decodeLog(log)
      // The newest transfer of a position determines its holder.
      if (change?.kind !== 'moved' || moved.has(change.id)) continue
      moved.add(change.id)
      read.find(({ account }) => account === change.to)?.found.set(change.id, log)
    }
  }
  return sought.flatMap(({ vault, account, count, found }) => {
    if (found.size !== count) {
      const problem = `at block ${block.number} ${account} holds ${count} positions, ${found.size} by the logs`
      throw new Contradiction(problem, vault)
    }
    return Array.from(found, ([id, arrival]) => ({ vault, account, id, arrival }))
  })
}

/** A position at the end of a block, with the log of its arrival at a vault. */
export interface ArrivedPosition extends Pick<LoggedPosition, 'id' | 'arrival'> {
  readonly stored: Pick<StoredPosition, 'liquidity'>
}

/** Options of {@link findChanged}. */
export interface ChangedPositionsOptions extends Pick<LoggedPositionsOptions, 'rpc' | 'windowBlocks'> {
  readonly venues: Venues
}

/**
 * Finds the positions that their vaults have changed since the arrival, by the logs. Adding liquidity to an empty
 * position does not count, because anyone does so who creates it. The logs of all positions are read together, from the
 * newest to the oldest, because anyone can transfer any number of positions to a vault.
 * @returns the ids of these positions
 */
export async function findChanged(
  block: Pick<Header, 'number'>,
  positions: readonly ArrivedPosition[],
  { rpc, venues, windowBlocks = 10_000 }: ChangedPositionsOptions,
): Promise<Set<string>> {
  const changed = new Set<string>()
  const sought = new Map(positions.map(({ id, arrival }) => [id, arrival]))
  /** The liquidity of the positions before the logs that were read. */
  const liquidities = new Map(positions.map(({ id, stored: { liquidity } }) => [id, liquidity]))
  const undo = (log: ChainLog): void => {
    const change = venues.decodeLog(log)
    const arrival = change === null ? undefined : sought.get(change.id)
    if (change?.kind !== 'modified' || arrival === undefined || compareLogs(log, arrival) <= 0) return
    const { id } = change
    const liquidity = (liquidities.get(id) ?? 0n) - change.liquidity
    liquidities.set(id, liquidity)
    if (liquidity <= 0n) return
    changed.add(id)
    sought.delete(id)
  }
  const width = new RangeWidth()
  for (let to = block.number; sought.size > 0; to -= windowBlocks) {
    const oldest = [...sought.values()].reduce((least, arrival) => Math.min(least, arrival.block), to)
    const from = Math.max(oldest, to - windowBlocks + 1)
    const logs = await readLogRange(rpc, venues.changesOf([...sought.keys()]), from, to, width)
    const blocks = groupBy(logs.reverse(), ({ block: number }) => number)
    await forEachYielding(blocks.values(), (ofBlock) => ofBlock.forEach(undo))
    for (const [id, arrival] of sought) if (arrival.block >= from) sought.delete(id)
  }
  return changed
}
