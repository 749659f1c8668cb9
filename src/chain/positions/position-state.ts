import type { Address } from '../../domain/address.ts'
import { Contradiction } from '../errors.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { PositionChange, StoredPosition } from '../venues/venue.ts'

/** State of a position according to its logs since its creation, regardless of its holders. */
export interface PositionState {
  readonly liquidity: bigint
  /** Withdrawn liquidity that is not collected yet: principal, not fees. */
  readonly freed: Amounts
}

/** State of a newly created position. */
export const newPosition: PositionState = { liquidity: 0n, freed: [0n, 0n] }

/** Returns the state of a position after a change of its liquidity or of its uncollected amounts. */
export function afterChange(
  { liquidity, freed }: PositionState,
  change: Exclude<PositionChange, { kind: 'moved' }>,
): PositionState {
  if (change.kind === 'modified') return { liquidity: liquidity + change.liquidity, freed }
  if (change.kind === 'increased') return { liquidity: liquidity + change.liquidity, freed }
  const [amount0, amount1] = change.amounts
  if (change.kind === 'collected')
    return { liquidity, freed: [subtractToZero(freed[0], amount0), subtractToZero(freed[1], amount1)] }
  return { liquidity: liquidity - change.liquidity, freed: [freed[0] + amount0, freed[1] + amount1] }
}

/**
 * Compares the state of a position by its logs with the position that the venue's contract stores at the end of a
 * block. The stored uncollected amounts must include all withdrawn liquidity.
 * @throws {Contradiction} when they disagree
 */
export function verifyState(
  block: number,
  id: string,
  { liquidity, freed }: PositionState,
  stored: StoredPosition,
  vault?: Address,
): void {
  const { credited } = stored
  if (stored.liquidity === liquidity && freed[0] <= credited[0] && freed[1] <= credited[1]) return
  throw new Contradiction(
    `at block ${block} position ${id} has the liquidity ${stored.liquidity} and owes ${credited.join(' and ')}, ` +
      `and by the logs ${liquidity} and at least ${freed.join(' and ')}`,
    vault,
  )
}

/** Returns the fees in a collected amount: principal is paid first. */
export function feesIn([amount0, amount1]: Amounts, { freed }: PositionState): Amounts {
  return [subtractToZero(amount0, freed[0]), subtractToZero(amount1, freed[1])]
}

/** Subtracts amounts, with 0 as the minimum. */
export function subtractToZero(from: bigint, amount: bigint): bigint {
  return from > amount ? from - amount : 0n
}
