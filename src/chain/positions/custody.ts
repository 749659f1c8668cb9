import { type Address, zeroAddress } from 'viem'
import type { VaultConfig } from '../config.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import { groupBy } from '../rpc/arrays.ts'
import { type ChainLog, compareLogs, type Header } from '../rpc/block.ts'
import { readLogRange } from '../rpc/log-ranges.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Custody, StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'
import type { Holdings } from './holdings.ts'

/** Options of {@link readCustodyMoves}. */
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

/**
 * Returns the logs that transfer positions of vaults to contracts for custody. A contract may also own a position that
 * was only sent to it: then it is in custody of none at the end of the block, and has not come back.
 */
export async function readCustodyMoves(
  logs: readonly ChainLog[],
  holdings: Holdings,
  headerAt: (number: number) => Promise<Header>,
  { rpc, multicall, venues }: CustodyOptions,
): Promise<ChainLog[]> {
  const departures = departuresIn(logs, venues, (account) => holdings.vaultOf(account))
  const found = await Promise.all(
    departures.map(async ({ id, from, to, log }) => {
      const state = new BlockState(rpc, multicall, await headerAt(log.block))
      const isKept = await aboutVault(
        holdings.vaultOf(from),
        isInCustody(state, venues, id, { custodian: to, account: from }),
      )
      return isKept || isMovedAgain(id, log, logs, venues) ? [log] : []
    }),
  )
  return found.flat()
}

/**
 * Returns whether a contract has a position in custody for an account.
 * @throws {ContractMismatch} when the contract takes positions into custody, and does not answer
 */
async function isInCustody(state: BlockState, venues: Venues, id: string, custody: Custody): Promise<boolean> {
  const venue = venues.custodyOf(id)
  if ((await venue?.custodianOf(state, id)) !== custody.custodian) return false
  return (await venue?.isHeld(state, id, custody)) === true
}

/** Returns whether a position is transferred after a log in the same block. */
function isMovedAgain(id: string, move: ChainLog, logs: readonly ChainLog[], venues: Venues): boolean {
  return logs.some((log) => {
    const change = log.block === move.block && compareLogs(log, move) > 0 ? venues.decodeLog(log) : null
    return change?.kind === 'moved' && change.id === id
  })
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
  const logs = await readLogRange(rpc, filters, first, block.number)
  const departures = departuresIn(logs, venues, (account) => places.get(account))
  const state = new BlockState(rpc, multicall, block)
  const staked = await Promise.all(
    [...groupBy(departures, ({ id }) => id).values()].map(async (ofOne): Promise<StakedPosition[]> => {
      const { id, from: account, to: custodian } = ofOne.at(-1) as Departure
      const vault = places.get(account)
      const custody = { custodian, account }
      const [stored, isKept] = await Promise.all([
        venues.readStored(state, id),
        aboutVault(vault, isInCustody(state, venues, id, custody)),
      ])
      if (stored === null || !isKept || vault === undefined) return []
      return [{ vault, id, stored, custody }]
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
    const change = venues.decodeLog(log)
    if (change?.kind !== 'moved' || venues.custodyOf(change.id) === undefined) return []
    const { id, from, to } = change
    const leaves = vaultOf(from) !== undefined && vaultOf(to) === undefined && to !== zeroAddress
    return leaves ? [{ id, from, to, log }] : []
  })
}
