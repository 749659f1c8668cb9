import type { Address } from 'viem'
import { Contradiction } from '../errors.ts'
import type { Holding, Holdings } from './holdings.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { StoredPosition, Venue } from '../venues/venue.ts'

/**
 * Holds what the logs say against what the venue's contract says at the end of a block: a node that leaves logs out is
 * found out before anything is told of them.
 * @throws {Contradiction}
 */
export async function checkHoldings(state: BlockState, holdings: Holdings): Promise<void> {
  const { venue, vaults } = holdings
  await Promise.all(
    [...vaults].map(async (vault) => {
      const held = holdings.of(vault)
      await Promise.all([checkCount(state, venue, vault, held), ...held.map((one) => storedAs(state, venue, one))])
    }),
  )
}

/** @throws {Contradiction} where the vault holds more positions, or fewer */
export async function checkCount(
  state: BlockState,
  venue: Venue,
  vault: Address,
  held: readonly Holding[],
): Promise<void> {
  const count = await venue.count(state, vault)
  if (count === held.length) return
  throw new Contradiction(
    `at block ${state.block.number} the vault ${vault} holds ${count} positions, ${held.length} by the logs`,
  )
}

/** @throws {Contradiction} where the position isn't there, or has another liquidity */
export async function storedAs(state: BlockState, venue: Venue, { id, liquidity }: Holding): Promise<StoredPosition> {
  const stored = await venue.storedOf(state, id)
  if (stored !== null && (liquidity === null || stored.liquidity === liquidity)) return stored
  const found = stored === null ? 'is not there' : `has the liquidity ${stored.liquidity}`
  throw new Contradiction(
    `at block ${state.block.number} position ${id} ${found}, and ${String(liquidity)} by the logs`,
  )
}
