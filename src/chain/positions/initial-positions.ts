import type { Address } from 'viem'
import type { Header } from '../rpc/block.ts'
import { groupBy, inChunks } from '../rpc/arrays.ts'
import { type Holding, Holdings } from './holdings.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import { readPositionStates } from './position-history.ts'
import { isInTokens, type Tokens } from '../valuation/tokens.ts'
import type { VaultConfig } from '../config.ts'
import { applyHistory } from './unlisted-positions.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import { applyRequests } from './requests.ts'
import { listStaked } from './custody.ts'
import type { PositionList, StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

/** Positions that are read at once: anyone can transfer any number of them to a vault. */
const maxAtOnce = 500

/** Options of {@link initialPositions}. */
export interface InitialPositionsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly kinds: VaultKinds
  readonly tokens: Tokens
  readonly vaults: readonly Pick<VaultConfig, 'address' | 'firstBlock'>[]
}

interface ListedPosition extends Pick<Holding, 'vault' | 'id' | 'custody'> {
  readonly stored: StoredPosition
}

/**
 * Reads the positions of vaults at the end of a block. The venues list them, or their logs since the vaults' first blocks
 * tell them; those in unknown tokens are only counted.
 * @throws {Contradiction} when logs and contract disagree
 */
export async function initialPositions(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<Holdings> {
  const { rpc, multicall, venues, kinds, tokens } = options
  const vaults = options.vaults.map(({ address }) => address)
  const places = await listPlaces(new BlockState(rpc, multicall, block), options)
  const known: ListedPosition[] = []
  const strays = new Map<Address, number>()
  for (const some of inChunks(places, maxAtOnce)) {
    const listed = await listSome(new BlockState(rpc, multicall, block), venues, some)
    const isKnown = groupBy(listed, ({ stored }) => isInTokens(tokens, stored))
    known.push(...(isKnown.get(true) ?? []))
    for (const { vault } of isKnown.get(false) ?? []) strays.set(vault, (strays.get(vault) ?? 0) + 1)
  }
  const staked = await listStaked(block, options)
  known.push(...staked.filter(({ stored }) => isInTokens(tokens, stored)))
  const stored = new Map(known.map((position) => [position.id, position.stored]))
  const holders = new Map(known.map(({ id, vault }) => [id, vault]))
  const vaultOf = (id: string): Address | undefined => holders.get(id)
  const states = await readPositionStates({ rpc, venues, vaultOf }, block.number, stored)
  const holdings = known.flatMap(({ id, vault, custody }): Holding[] => {
    const one = states.get(id)
    return one === undefined ? [] : [{ ...one, id, vault, ...(custody && { custody }) }]
  })
  const all = new Holdings(venues, kinds, new Set(vaults), holdings, strays)
  await applyHistory(all, block, options)
  await applyRequests(all, block, options)
  return all
}

/** A place in a venue's list of the positions of an account. */
interface ListPlace {
  readonly vault: Address
  readonly account: Address
  readonly list: PositionList
  readonly index: number
}

async function listPlaces(state: BlockState, { venues, kinds, vaults }: InitialPositionsOptions): Promise<ListPlace[]> {
  const lists = venues.all.flatMap(({ list }) => list ?? [])
  const accounts = vaults.flatMap(({ address: vault }) =>
    kinds.of(vault).accounts.map((account) => ({ vault, account })),
  )
  const places = await Promise.all(
    accounts.flatMap((one) =>
      lists.map(async (list) => {
        const count = await list.count(state, one.account)
        return Array.from({ length: count }, (_, index) => ({ ...one, list, index }))
      }),
    ),
  )
  return places.flat()
}

function listSome(state: BlockState, venues: Venues, places: readonly ListPlace[]): Promise<ListedPosition[]> {
  return Promise.all(
    places.map(async ({ vault, account, list, index }) => {
      const id = await list.idAt(state, account, index)
      const stored = await venues.readStored(state, id)
      if (stored === null) throw new Error(`position ${id} is listed and isn't there`)
      return { vault, id, stored }
    }),
  )
}
