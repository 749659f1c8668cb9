import type { Address } from 'viem'
import { Contradiction } from '../errors.ts'
import type { Holding, Holdings, VaultHoldings } from './holdings.ts'
import { verifyState } from './position-state.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { StoredPosition, Venue } from '../venues/venue.ts'

/**
 * Compares the positions according to the logs with the venue's contract at the end of a block, so that missing logs
 * are detected before facts are derived from them.
 * @throws {Contradiction} when they differ
 */
export async function checkHoldings(state: BlockState, holdings: Holdings): Promise<void> {
  const { venue, vaults } = holdings
  await Promise.all(
    [...vaults].map(async (vault) => {
      const held = holdings.of(vault)
      await Promise.all([
        checkCount(state, venue, vault, held),
        ...held.positions.map((one) => readVerified(state, venue, one)),
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
  venue: Venue,
  vault: Address,
  { positions, strays }: VaultHoldings,
): Promise<void> {
  const count = await venue.count(state, vault)
  const expected = positions.length + strays
  if (count === expected) return
  throw new Contradiction(
    `at block ${state.block.number} the vault ${vault} holds ${count} positions, ${expected} by the logs`,
  )
}

/**
 * Reads a position and verifies its state.
 * @throws {Contradiction} when it does not exist, or differs from the logs
 */
export async function readVerified(state: BlockState, venue: Venue, holding: Holding): Promise<StoredPosition> {
  const { id } = holding
  const { number } = state.block
  const stored = await venue.readStored(state, id)
  if (stored === null) throw new Contradiction(`at block ${number} position ${id} is not there, and is by the logs`)
  verifyState(number, id, holding, stored)
  return stored
}
