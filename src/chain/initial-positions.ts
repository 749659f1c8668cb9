import type { Address } from 'viem'
import type { Header, ChainLog } from './rpc/block.ts'
import { type Holding, Holdings } from './valuation/holdings.ts'
import type { Rpc } from './rpc/rpc.ts'
import { BlockState } from './rpc/multicall.ts'
import type { Venue } from './venues/venue.ts'

export interface InitialPositionsOptions {
  readonly rpc: Rpc
  readonly multicall: Address
  readonly venue: Venue
  readonly vaults: readonly Address[]
  /** Logs of positions up to the block, from the first one on that a vault can have had one. */
  readonly history: (ids: readonly string[]) => Promise<readonly ChainLog[]>
}

/**
 * The positions of vaults at the end of a block. The venue lists them; of those with something credited the logs tell
 * how much of it is liquidity that was taken out.
 */
export async function initialPositions(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<Holdings> {
  const { rpc, multicall, venue, vaults, history } = options
  const state = new BlockState(rpc, multicall, block)
  const listed = (await Promise.all(vaults.map((vault) => listOf(state, venue, vault)))).flat()
  const owing = listed.filter(({ credited }) => credited.some((amount) => amount > 0n)).map(({ id }) => id)
  const told = new Holdings(venue, new Set(vaults))
  if (owing.length > 0) told.take(await history(owing))
  const freed = new Map(vaults.flatMap((vault) => told.of(vault)).map((holding) => [holding.id, holding.freed]))
  const holdings = listed.map(({ id, vault, liquidity }): Holding => {
    return { id, vault, liquidity, freed: freed.get(id) ?? [0n, 0n] }
  })
  return new Holdings(venue, new Set(vaults), holdings)
}

async function listOf(state: BlockState, venue: Venue, vault: Address) {
  const ids = await venue.idsOf(state, vault)
  return Promise.all(ids.map(async (id) => ({ ...(await mustStore(state, venue, id)), id, vault })))
}

async function mustStore(state: BlockState, venue: Venue, id: string) {
  const stored = await venue.storedOf(state, id)
  if (stored === null) throw new Error(`${venue.name} lists position ${id} and doesn't have it`)
  return stored
}
