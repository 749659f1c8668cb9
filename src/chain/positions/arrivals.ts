import type { ChainLog, Header } from '../rpc/block.ts'
import { type Arrival, arrivalsIn, type Holdings } from './holdings.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import { readPositionStates } from './position-history.ts'
import { newPosition } from './position-state.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { isInTokens, type Tokens } from '../valuation/tokens.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

type BlockId = Pick<Header, 'number' | 'hash'>

/** Options of {@link readArrivals}. */
export interface ArrivalOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly tokens: Tokens
}

/** The blocks around consecutive logs. */
export interface LogBounds {
  /** The block before the first one. */
  readonly before: BlockId
  /** The last block. */
  readonly end: BlockId
  /** Reads the header of a block between them. */
  readonly headerAt: (number: number) => Promise<Header>
}

/**
 * Reads the positions that logs transfer to vaults, as they are before these logs.
 * @throws {Contradiction} when logs and contract disagree
 */
export async function readArrivals(
  logs: readonly ChainLog[],
  holdings: Holdings,
  { before, end, headerAt }: LogBounds,
  options: ArrivalOptions,
): Promise<Map<string, Arrival>> {
  const { rpc, venues, tokens } = options
  const blocks = arrivalsIn(logs, holdings)
  const older = await readStored([...blocks.keys()], before, options)
  const created = [...blocks].filter(([id]) => !older.has(id))
  const kept = await readStored(
    created.map(([id]) => id),
    end,
    options,
  )
  const burned = created.filter(([id]) => !kept.has(id))
  const terms = new Map([
    ...older,
    ...kept,
    ...(await Promise.all(burned.map(async ([id, at]) => readBurned(id, await headerAt(at), options)))).flat(),
  ])
  const states = await readPositionStates(
    { rpc, venues },
    before.number,
    new Map([...older].filter(([, stored]) => isInTokens(tokens, stored))),
  )
  return new Map(
    [...blocks.keys()].map((id): [string, Arrival] => {
      const stored = terms.get(id)
      const isStray = stored !== undefined && !isInTokens(tokens, stored)
      const refusal = stored?.refusal
      return [id, isStray ? 'stray' : { ...(states.get(id) ?? newPosition), ...(refusal !== undefined && { refusal }) }]
    }),
  )
}

/** Reads positions at the end of a block, without those that do not exist there. */
async function readStored(ids: readonly string[], block: BlockId, options: ArrivalOptions) {
  const state = new BlockState(options.rpc, options.multicall, block)
  const found = await Promise.all(ids.map(async (id) => [id, await options.venues.readStored(state, id)] as const))
  return new Map(found.filter((one): one is readonly [string, StoredPosition] => one[1] !== null))
}

/**
 * Reads a position that arrived in a block and was burned later: at the end of that block, or before it. Empty where it
 * was created and burned in that block: only its vault can have burned it, so that it is not a stranger's.
 */
async function readBurned(id: string, { number, hash, parentHash }: Header, options: ArrivalOptions) {
  const there = await readStored([id], { number, hash }, options)
  return there.size > 0 ? [...there] : [...(await readStored([id], { number: number - 1, hash: parentHash }, options))]
}
