import type { Address } from 'viem'
import type { Header } from './rpc/block.ts'
import { groupBy, inChunks } from './rpc/arrays.ts'
import { type Holding, Holdings } from './valuation/holdings.ts'
import type { Rpc } from './rpc/rpc.ts'
import { BlockState, type Multicall } from './rpc/multicall.ts'
import { readPositionStates } from './valuation/position-history.ts'
import { isInTokens, type Tokens } from './valuation/tokens.ts'
import type { StoredPosition, Venue } from './venues/venue.ts'

/** Positions that are read at once: anyone can transfer any number of them to a vault. */
const maxAtOnce = 500

/** Options of {@link initialPositions}. */
export interface InitialPositionsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venue: Venue
  readonly tokens: Tokens
  readonly vaults: readonly Address[]
}

interface ListedPosition {
  readonly vault: Address
  readonly id: string
  readonly stored: StoredPosition
}

/**
 * Reads the positions of vaults at the end of a block. The venue lists them; those in unknown tokens are only counted.
 * @throws {Contradiction} when logs and contract disagree
 */
export async function initialPositions(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<Holdings> {
  const { rpc, multicall, venue, tokens, vaults } = options
  const state = new BlockState(rpc, multicall, block)
  const counts = await Promise.all(vaults.map(async (vault) => [vault, await venue.count(state, vault)] as const))
  const places = counts.flatMap(([vault, count]) => Array.from({ length: count }, (_, index) => ({ vault, index })))
  const known: ListedPosition[] = []
  const strays = new Map<Address, number>()
  for (const some of inChunks(places, maxAtOnce)) {
    const listed = await listSome(new BlockState(rpc, multicall, block), venue, some)
    const isKnown = groupBy(listed, ({ stored }) => isInTokens(tokens, stored))
    known.push(...(isKnown.get(true) ?? []))
    for (const { vault } of isKnown.get(false) ?? []) strays.set(vault, (strays.get(vault) ?? 0) + 1)
  }
  const stored = new Map(known.map((position) => [position.id, position.stored]))
  const states = await readPositionStates(rpc, venue, block.number, stored)
  const holdings = known.flatMap(({ id, vault }): Holding[] => {
    const one = states.get(id)
    return one === undefined ? [] : [{ ...one, id, vault }]
  })
  return new Holdings(venue, new Set(vaults), holdings, strays)
}

function listSome(
  state: BlockState,
  venue: Venue,
  places: readonly { readonly vault: Address; readonly index: number }[],
): Promise<ListedPosition[]> {
  return Promise.all(
    places.map(async ({ vault, index }) => {
      const id = await venue.idAt(state, vault, index)
      const stored = await venue.readStored(state, id)
      if (stored === null) throw new Error(`${venue.name} lists position ${id} and doesn't have it`)
      return { vault, id, stored }
    }),
  )
}
