import type { Address } from 'viem'
import { Contradiction } from '../errors.ts'
import type { Header } from '../rpc/block.ts'
import { groupBy, inChunks } from '../rpc/arrays.ts'
import type { Holding } from './holding.ts'
import { Holdings } from './holdings.ts'
import type { Report } from '../rpc/fault-watch.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import { readPositionStates } from './position-history.ts'
import { isInTokens, type Tokens } from '../valuation/tokens.ts'
import type { VaultConfig } from '../config.ts'
import { applyHistory } from './unlisted-positions.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import { applyRequests } from './requests.ts'
import { listStaked } from './custody.ts'
import { findChanged, findLogged, type HoldingAccount, type LoggedPosition } from './logged-positions.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

/** Maximum number of positions that are read concurrently: anyone can transfer any number of positions to a vault. */
const maxAtOnce = 500

/** Options of {@link initialPositions}. */
export interface InitialPositionsOptions {
  readonly rpc: Rpc
  readonly impatientRpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly kinds: VaultKinds
  readonly tokens: Tokens
  readonly report: Report
  readonly vaults: readonly Pick<VaultConfig, 'address' | 'firstBlock'>[]
}

interface ListedPosition extends Pick<Holding, 'vault' | 'id' | 'custody'>, Partial<Pick<LoggedPosition, 'arrival'>> {
  readonly stored: StoredPosition
}

/**
 * Reads the positions of vaults at the end of a block, from the venues' lists or from logs since the vaults' first
 * blocks. Positions in unknown tokens are only counted.
 * @throws {Contradiction} when logs and contract disagree
 */
export async function initialPositions(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<Holdings> {
  const { rpc, impatientRpc, multicall, venues, kinds, tokens, report } = options
  const vaults = options.vaults.map(({ address }) => address)
  const places = [
    ...(await listPlaces(new BlockState(rpc, multicall, block), options)),
    ...(await loggedPlaces(block, options)),
  ]
  const known: ListedPosition[] = []
  const strays = new Map<Address, number>()
  for (const some of inChunks(places, maxAtOnce)) {
    const state = new BlockState(rpc, multicall, block)
    const listed = await Promise.all(some.map((read) => read(state)))
    const isKnown = groupBy(listed, ({ stored }) => isInTokens(tokens, stored))
    known.push(...(isKnown.get(true) ?? []))
    for (const { vault } of isKnown.get(false) ?? []) strays.set(vault, (strays.get(vault) ?? 0) + 1)
  }
  const staked = await listStaked(block, options)
  known.push(...staked.filter(({ stored }) => isInTokens(tokens, stored)))
  const foreign = await findForeign(block, known, options)
  const stored = new Map(known.map((position) => [position.id, position.stored]))
  const holders = new Map(known.map(({ id, vault }) => [id, vault]))
  const vaultOf = (id: string): Address | undefined => holders.get(id)
  const states = await readPositionStates({ impatientRpc, venues, vaultOf, report }, block.number, stored)
  const holdings = known.flatMap(({ id, vault, custody, stored: { refusal } }): Holding[] => {
    const one = states.get(id)
    const more = {
      ...(custody && { custody }),
      ...(refusal !== undefined && { refusal, isForeign: foreign.has(id) }),
    }
    return one === undefined ? [] : [{ ...one, id, vault, ...more }]
  })
  const all = new Holdings(venues, kinds, new Set(vaults), holdings, strays)
  await applyHistory(all, block, options)
  await applyRequests(all, block, options)
  return all
}

/** Reads one position of a vault. */
type ReadPosition = (state: BlockState) => Promise<ListedPosition>

/** Returns the positions that venues list. */
async function listPlaces(state: BlockState, options: InitialPositionsOptions): Promise<ReadPosition[]> {
  const places = accountsOf(options).flatMap(({ vault, account }) =>
    options.venues.all.map(async ({ list }) => {
      const idAt = list?.idAt?.bind(list)
      if (list === undefined || idAt === undefined) return []
      const count = await list.count(state, account)
      return Array.from({ length: count }, (_, index): ReadPosition => async (at) => {
        const id = await idAt(at, account, index)
        return { vault, id, stored: await requireStored(at, options, { vault, id }) }
      })
    }),
  )
  return (await Promise.all(places)).flat()
}

/** Returns the positions that only logs identify. */
async function loggedPlaces(
  block: Pick<Header, 'number' | 'hash'>,
  options: InitialPositionsOptions,
): Promise<ReadPosition[]> {
  const counting = options.venues.all.filter(({ list }) => list !== undefined && list.idAt === undefined)
  const places = counting.map(async (venue) => {
    const found = await findLogged(block, venue, accountsOf(options), options)
    return found.map(({ vault, id, arrival }): ReadPosition => async (state) => {
      return { vault, id, arrival, stored: await requireStored(state, options, { vault, id }) }
    })
  })
  return (await Promise.all(places)).flat()
}

/** Returns the ids of the refused positions that their vaults have not changed since the arrival. */
async function findForeign(
  block: Pick<Header, 'number'>,
  known: readonly ListedPosition[],
  options: InitialPositionsOptions,
): Promise<Set<string>> {
  const refused = known.flatMap(({ id, arrival, stored }) =>
    stored.refusal === undefined || arrival === undefined ? [] : [{ id, arrival, stored }],
  )
  const changed = await findChanged(block, refused, options)
  return new Set(refused.flatMap(({ id }) => (changed.has(id) ? [] : [id])))
}

function accountsOf({ kinds, vaults }: InitialPositionsOptions): HoldingAccount[] {
  return vaults.flatMap(({ address: vault }) => kinds.of(vault).accounts.map((account) => ({ vault, account })))
}

/**
 * @throws {Contradiction} when the position does not exist
 * @throws {ContractMismatch} when a contract of the vault does not answer as its standard requires
 */
async function requireStored(
  state: BlockState,
  { venues }: InitialPositionsOptions,
  { vault, id }: Pick<Holding, 'vault' | 'id'>,
): Promise<StoredPosition> {
  const stored = await aboutVault(vault, venues.readStored(state, id))
  if (stored !== null) return stored
  throw new Contradiction(`at block ${state.block.number} position ${id} is not there, and ${vault} holds it`, vault)
}
