import type { ChainLog, Header } from '../rpc/block.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import { type Arrival, arrivalsIn, type FirstArrival, type Holdings } from './holdings.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import { readPositionStates } from './position-history.ts'
import { newPosition } from './position-state.ts'
import type { Report } from '../rpc/fault-watch.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { isInTokens, type Tokens } from '../valuation/tokens.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

type BlockId = Pick<Header, 'number' | 'hash'>

/** Options of {@link readArrivals}. */
export interface ArrivalOptions {
  readonly rpc: Rpc
  readonly impatientRpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly tokens: Tokens
  readonly report: Report
}

/** The blocks around consecutive logs. */
export interface LogBounds {
  /** The block before the first block. */
  readonly before: BlockId
  /** The last block. */
  readonly end: BlockId
  /** Reads the header of a block between these two. */
  readonly headerAt: (number: number) => Promise<Header>
}

/**
 * Reads the positions that logs transfer to vaults, in their state before these logs.
 * @throws {Contradiction} when logs and contract disagree
 * @throws {ContractMismatch} when a contract of a vault does not answer as its standard requires
 */
export async function readArrivals(
  logs: readonly ChainLog[],
  holdings: Holdings,
  { before, end, headerAt }: LogBounds,
  options: ArrivalOptions,
): Promise<Map<string, Arrival>> {
  const { impatientRpc, venues, tokens, report } = options
  const arriving = arrivalsIn(logs, holdings)
  const older = await readStored([...arriving], before, options)
  const created = [...arriving].filter(([id]) => !older.has(id))
  const kept = await readStored(created, end, options)
  const burned = created.filter(([id]) => !kept.has(id))
  const readEach = burned.map(async (one) => readBurned(one, await headerAt(one[1].block), options))
  const terms = new Map([...older, ...kept, ...(await Promise.all(readEach)).flat()])
  const states = await readPositionStates(
    { impatientRpc, venues, report, vaultOf: (id) => arriving.get(id)?.vault },
    before.number,
    new Map([...older].filter(([, stored]) => isInTokens(tokens, stored))),
  )
  return new Map(
    [...arriving.keys()].map((id): [string, Arrival] => {
      const stored = terms.get(id)
      const isStray = stored !== undefined && !isInTokens(tokens, stored)
      const refusal = stored?.refusal
      return [id, isStray ? 'stray' : { ...(states.get(id) ?? newPosition), ...(refusal !== undefined && { refusal }) }]
    }),
  )
}

/** The id and the first arrival of a position. */
type ArrivingId = readonly [id: string, arrival: FirstArrival]

/** Reads positions at the end of a block; positions that do not exist then are left out. */
async function readStored(arriving: readonly ArrivingId[], block: BlockId, options: ArrivalOptions) {
  const state = new BlockState(options.rpc, options.multicall, block)
  const found = await Promise.all(
    arriving.map(async ([id, { vault }]) => {
      return [id, await aboutVault(vault, options.venues.readStored(state, id))] as const
    }),
  )
  return new Map(found.filter((one): one is readonly [string, StoredPosition] => one[1] !== null))
}

/**
 * Reads a position that arrived in a block and was burned later: at the end of that block, or before it. Empty where it
 * was created and burned in that block: only the vault can have burned it, so that no check for strays is needed.
 */
async function readBurned(one: ArrivingId, { number, hash, parentHash }: Header, options: ArrivalOptions) {
  const there = await readStored([one], { number, hash }, options)
  return there.size > 0 ? [...there] : [...(await readStored([one], { number: number - 1, hash: parentHash }, options))]
}
