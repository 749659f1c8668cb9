import type { Address } from 'viem'
import { Contradiction } from '../errors.ts'
import type { Holding, VaultHoldings } from './holding.ts'
import type { Holdings } from './holdings.ts'
import { verifyState } from './position-state.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'

/**
 * Compares the positions according to the logs with the venues' contracts at the end of a block, so that missing logs
 * are detected before facts are derived from them.
 * @throws {Contradiction} when they differ
 */
export async function checkHoldings(state: BlockState, holdings: Holdings): Promise<void> {
  const { venues, kinds, vaults } = holdings
  await Promise.all(
    [...vaults].map(async (vault) => {
      const held = holdings.of(vault)
      await Promise.all([
        checkCount(state, venues, { vault, ...kinds.of(vault) }, held),
        ...held.positions.map((one) => readVerified(state, venues, one)),
      ])
    }),
  )
}

/**
 * Verifies the number of positions of a vault.
 * @throws {Contradiction} when it differs from the logs
 */
export async function checkCount(
  state: BlockState,
  venues: Venues,
  { vault, accounts }: { readonly vault: Address; readonly accounts: readonly Address[] },
  { positions, foreign, strays }: VaultHoldings,
): Promise<void> {
  const counts = await Promise.all(accounts.map((account) => venues.count(state, account)))
  const count = counts.reduce((sum, one) => sum + one, 0)
  const expected = [...positions, ...foreign].filter((one) => isListed(venues, one)).length + strays
  if (count === expected) return
  throw new Contradiction(
    `at block ${state.block.number} the vault ${vault} holds ${count} positions, ${expected} by the logs`,
    vault,
  )
}

/** Returns whether a venue lists a position for its vault: not while a contract holds it in custody. */
export function isListed(venues: Venues, { id, custody }: Pick<Holding, 'id' | 'custody'>): boolean {
  return custody === undefined && venues.lists(id)
}

/**
 * Reads a position and verifies its state and its custody.
 * @throws {Contradiction} when it does not exist, or differs from the logs
 * @throws {ContractMismatch} when a contract of the vault does not answer as its standard requires
 */
export async function readVerified(state: BlockState, venues: Venues, holding: Holding): Promise<StoredPosition> {
  const { id, custody, vault } = holding
  const { number } = state.block
  const [stored, isHeld] = await Promise.all([
    aboutVault(vault, venues.readStored(state, id)),
    custody === undefined ||
      aboutVault(vault, venues.custodyOf(id)?.isHeld(state, id, custody) ?? Promise.resolve(false)),
  ])
  if (stored === null)
    throw new Contradiction(`at block ${number} position ${id} is not there, and is by the logs`, vault)
  if (!isHeld)
    throw new Contradiction(`at block ${number} position ${id} is in custody of none, by the logs it is`, vault)
  verifyState(number, id, holding, stored, vault)
  return stored
}
