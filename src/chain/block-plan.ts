import { type Address, getAddress } from 'viem'
import type { ChainLog } from './rpc/block.ts'
import type { VaultConfig } from './config.ts'
import type { Segment } from './follow.ts'
import { groupBy } from './rpc/arrays.ts'
import type { Holding, Holdings, PositionEvent } from './valuation/holdings.ts'
import { readVaultLog, type VaultChange } from './vaults/vault-events.ts'

/** What happened to a vault itself. */
export interface VaultEvent {
  readonly vault: Address
  readonly change: VaultChange
  readonly log: ChainLog
}

/** A block of which there is something to tell. */
export interface BlockPlan {
  readonly number: number
  readonly opened: readonly VaultConfig[]
  readonly events: readonly (VaultEvent | PositionEvent)[]
  /** The vaults to value at the end of it, with the positions they hold then. */
  readonly marked: ReadonlyMap<Address, readonly Holding[]>
}

export interface BlockPlanOptions {
  readonly vaults: readonly VaultConfig[]
  readonly markEveryBlocks: number
  readonly holdings: Holdings
  /** Reads what a position that came from elsewhere holds at the end of a block. */
  readonly readLiquidity: (id: string, block: number) => Promise<bigint>
}

/**
 * Finds the blocks of a segment of which there is something to tell: where vaults begin, where something happens to
 * them, and every so many blocks. A vault is marked at the end of each block in which something happened to it.
 */
export async function planBlocks(segment: Segment, options: BlockPlanOptions): Promise<BlockPlan[]> {
  const { vaults, holdings, markEveryBlocks } = options
  const plans: BlockPlan[] = []
  const logs = groupBy(segment.logs, ({ block }) => block)
  for (const number of numbersOf(segment, options, logs.keys())) {
    const there = vaults.filter(({ firstBlock }) => firstBlock <= number)
    const { events, touched } = takeLogs(logs.get(number) ?? [], there, holdings)
    for (const id of holdings.unread) holdings.setLiquidity(id, await options.readLiquidity(id, number))
    const isTurn = number % markEveryBlocks === 0
    const marked = there.filter(({ address }) => isTurn || touched.has(address))
    plans.push({
      number,
      opened: vaults.filter(({ firstBlock }) => firstBlock === number),
      events,
      marked: new Map(marked.map(({ address }) => [address, holdings.of(address)])),
    })
  }
  return plans.filter(({ opened, marked }) => opened.length > 0 || marked.size > 0)
}

function numbersOf(
  { from, to }: Segment,
  { vaults, markEveryBlocks }: BlockPlanOptions,
  logs: Iterable<number>,
): number[] {
  const numbers = new Set(logs)
  for (const { firstBlock } of vaults) if (firstBlock >= from && firstBlock <= to) numbers.add(firstBlock)
  for (let turn = Math.ceil(from / markEveryBlocks) * markEveryBlocks; turn <= to; turn += markEveryBlocks) {
    numbers.add(turn)
  }
  return [...numbers].sort((a, b) => a - b)
}

function takeLogs(logs: readonly ChainLog[], vaults: readonly VaultConfig[], holdings: Holdings) {
  const there = new Set(vaults.map(({ address }) => address))
  const ofVaults = logs.flatMap((log): VaultEvent[] => {
    const vault = getAddress(log.address)
    const change = there.has(vault) ? readVaultLog(log) : null
    return change === null ? [] : [{ vault, change, log }]
  })
  const ofPositions = holdings.take(logs.filter(({ address }) => getAddress(address) === holdings.venue.address))
  const events = [...ofVaults, ...ofPositions.events].sort((a, b) => a.log.logIndex - b.log.logIndex)
  return { events, touched: new Set([...ofVaults.map(({ vault }) => vault), ...ofPositions.touched]) }
}
