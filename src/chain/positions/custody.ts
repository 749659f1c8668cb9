import { type Address, zeroAddress } from 'viem'
import type { VaultConfig } from '../config.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog, Header } from '../rpc/block.ts'
import { readHistory } from '../rpc/log-ranges.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Custody, StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'
import type { Holdings } from './holdings.ts'

/** Options of {@link readCustodians}. */
export interface CustodyOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
}

/** Options of {@link listStaked}. */
export interface StakedOptions extends CustodyOptions {
  readonly kinds: VaultKinds
  readonly vaults: readonly Pick<VaultConfig, 'address' | 'firstBlock'>[]
}

/** A position that a contract holds for a vault. */
export interface StakedPosition {
  readonly vault: Address
  readonly id: string
  readonly stored: StoredPosition
  readonly custody: Custody
}

/** A transfer of a position away from the account of a vault. */
interface Departure {
  readonly id: string
  readonly from: Address
  readonly to: Address
  readonly log: ChainLog
}

/** Reads the contracts to which logs transfer positions of vaults for custody. */
export async function readCustodians(
  logs: readonly ChainLog[],
  holdings: Holdings,
  headerAt: (number: number) => Promise<Header>,
  { rpc, multicall, venues }: CustodyOptions,
): Promise<(readonly [id: string, Address])[]> {
  const departures = departuresIn(logs, venues, (account) => holdings.vaultOf(account))
  const found = await Promise.all(
    departures.map(async ({ id, to, log }) => {
      const state = new BlockState(rpc, multicall, await headerAt(log.block))
      const custodian = (await venues.custodyOf(id)?.custodianOf(state, id)) ?? null
      return custodian === to ? [[id, to] as const] : []
    }),
  )
  return found.flat()
}

/**
 * Reads the positions that contracts hold for vaults at the end of a block. No list contains them; they are derived
 * from the vaults' outgoing transfers since the first block.
 */
export async function listStaked(
  block: Pick<Header, 'number' | 'hash'>,
  { rpc, multicall, venues, kinds, vaults }: StakedOptions,
): Promise<StakedPosition[]> {
  const places = new Map(
    vaults.flatMap(({ address }) =>
      kinds.of(address).accounts.map((account): [Address, Address] => [account, address]),
    ),
  )
  const first = Math.min(...vaults.map(({ firstBlock }) => firstBlock))
  const filters = venues.all
    .filter(({ custody }) => custody !== undefined)
    .flatMap((venue) => venue.movesOf([...places.keys()]))
  if (filters.length === 0 || first > block.number) return []
  const logs = await readHistory(rpc, filters, first, block.number)
  const departures = departuresIn(logs, venues, (account) => places.get(account))
  const state = new BlockState(rpc, multicall, block)
  const staked = await Promise.all(
    [...groupBy(departures, ({ id }) => id).values()].map(async (ofOne): Promise<StakedPosition[]> => {
      const { id, from: account, to: custodian } = ofOne.at(-1) as Departure
      const [stored, found, isHeld] = await Promise.all([
        venues.readStored(state, id),
        venues.custodyOf(id)?.custodianOf(state, id),
        venues.custodyOf(id)?.isHeld(state, id, { custodian, account }),
      ])
      const vault = places.get(account)
      if (stored === null || found !== custodian || isHeld !== true || vault === undefined) return []
      return [{ vault, id, stored, custody: { custodian, account } }]
    }),
  )
  return staked.flat()
}

function departuresIn(
  logs: readonly ChainLog[],
  venues: Venues,
  vaultOf: (account: Address) => Address | undefined,
): Departure[] {
  return logs.flatMap((log): Departure[] => {
    const change = venues.readLog(log)
    if (change?.kind !== 'moved' || venues.custodyOf(change.id) === undefined) return []
    const { id, from, to } = change
    const leaves = vaultOf(from) !== undefined && vaultOf(to) === undefined && to !== zeroAddress
    return leaves ? [{ id, from, to, log }] : []
  })
}
