import type { Address } from 'viem'
import type { Header, ChainLog } from './rpc/block.ts'
import { type Holding, Holdings } from './valuation/holdings.ts'
import type { Rpc } from './rpc/rpc.ts'
import { BlockState, type Multicall } from './rpc/multicall.ts'
import type { Venue } from './venues/venue.ts'

/** Options of {@link initialPositions}. */
export interface InitialPositionsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venue: Venue
  readonly vaults: readonly Address[]
  /** Reads the logs about positions up to the block, from the first block of any vault. */
  readonly history: (ids: readonly string[]) => Promise<readonly ChainLog[]>
}

/**
 * Reads the positions of vaults at the end of a block. The venue lists them; for those with uncollected amounts the
 * logs tell which part is withdrawn liquidity and which part is fees.
 */
export async function initialPositions(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<Holdings> {
  const { rpc, multicall, venue, vaults, history } = options
  const state = new BlockState(rpc, multicall, block)
  const listed = (await Promise.all(vaults.map((vault) => listOf(state, venue, vault)))).flat()
  const owing = listed.filter(({ credited }) => credited.some((amount) => amount > 0n)).map(({ id }) => id)
  const fromLogs = new Holdings(venue, new Set(vaults))
  if (owing.length > 0) fromLogs.applyLogs(await history(owing))
  const freed = new Map(vaults.flatMap((vault) => fromLogs.of(vault)).map((holding) => [holding.id, holding.freed]))
  const holdings = listed.map(({ id, vault, liquidity }): Holding => {
    return { id, vault, liquidity, freed: freed.get(id) ?? [0n, 0n] }
  })
  return new Holdings(venue, new Set(vaults), holdings)
}

async function listOf(state: BlockState, venue: Venue, vault: Address) {
  const ids = await venue.idsOf(state, vault)
  return Promise.all(ids.map(async (id) => ({ ...(await readListed(state, venue, id)), id, vault })))
}

async function readListed(state: BlockState, venue: Venue, id: string) {
  const stored = await venue.readStored(state, id)
  if (stored === null) throw new Error(`${venue.name} lists position ${id} and doesn't have it`)
  return stored
}
