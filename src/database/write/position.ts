import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import { isInRange, type Range } from '../../domain/position.ts'
import type { Transaction } from '../database.ts'
import { appendSet, deleteSet } from './sets.ts'
import { replacePools } from './vaults/vault-pool.ts'

/** An open position of a mark. */
export interface RecordedPosition {
  readonly id: string
  readonly pool: { readonly a: string; readonly b: string; readonly venue: string; readonly feeTier: number }
  readonly range: Range<Decimal>
  readonly ticks?: Range<number> | undefined
  readonly pendingRewardsUsd: Decimal
}

const deletePositions = deleteSet('position')
const appendPositions = appendSet('position', {
  vault_id: 'integer',
  id: 'text',
  ordinal: 'integer',
  a: 'text',
  b: 'text',
  venue: 'text',
  fee_tier: 'integer',
  price_lower: 'numeric',
  price_upper: 'numeric',
  price_current: 'numeric',
  tick_lower: 'integer',
  tick_upper: 'integer',
  tick_current: 'integer',
  in_range: 'boolean',
  pending_rewards_usd: 'numeric',
})

/**
 * Replaces the positions of vaults.
 * @param shown new positions by vault
 */
export function replacePositions(
  transaction: Transaction,
  shown: ReadonlyMap<number, readonly RecordedPosition[]>,
): void {
  replacePools(transaction, shown)
  deletePositions(transaction, [...shown.keys()])
  appendPositions(
    transaction,
    [...shown].flatMap(([vaultId, positions]) =>
      positions.map((position, ordinal) => positionRow(vaultId, ordinal, position)),
    ),
  )
}

function positionRow(
  vaultId: number,
  ordinal: number,
  { id, pool, range, ticks, pendingRewardsUsd }: RecordedPosition,
) {
  return {
    vault_id: vaultId,
    id,
    ordinal,
    a: pool.a,
    b: pool.b,
    venue: pool.venue,
    fee_tier: pool.feeTier,
    price_lower: range.lower.toFixed(),
    price_upper: range.upper.toFixed(),
    price_current: range.current.toFixed(),
    tick_lower: ticks?.lower ?? null,
    tick_upper: ticks?.upper ?? null,
    tick_current: ticks?.current ?? null,
    in_range: isInRange(range, ticks ?? null),
    pending_rewards_usd: usdText(pendingRewardsUsd),
  }
}
