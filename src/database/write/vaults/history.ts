import { usdText } from '../../../domain/flows.ts'
import type { VaultFees } from '../../../domain/fees.ts'
import type { VaultState } from '../../../domain/vault.ts'
import type { Transaction } from '../../database.ts'
import { appendSet, upsertSet } from '../sets.ts'

/** The part of a mark's positions that is mostly the same from mark to mark. */
export interface RecordedLayout {
  readonly vaultId: number
  /** Time of the mark, in Unix seconds. */
  readonly ts: number
  readonly positions: string
}

/** The seldom changed part of a vault's state at the end of a second. */
export interface RecordedChange {
  readonly vaultId: number
  /** Unix seconds. */
  readonly ts: number
  readonly state: Pick<VaultState, 'phase' | 'suspension'>
  readonly fees: VaultFees
}

const appendLayouts = appendSet('position_layout', { vault_id: 'integer', ts: 'bigint', positions: 'text' })

const upsertChanges = upsertSet(
  'vault_change',
  {
    vault_id: 'integer',
    ts: 'bigint',
    phase: 'vault_phase',
    suspension_reason: 'text',
    suspended_at: 'bigint',
    fees_taxed_usd: 'numeric',
    fees_contributed_usd: 'numeric',
    fees_withdrawn_usd: 'numeric',
    fees_high_water_usd: 'numeric',
  },
  ['vault_id', 'ts'],
)

/** Writes layouts; a vault has at most one mark in a second. */
export function saveLayouts(transaction: Transaction, layouts: readonly RecordedLayout[]): void {
  appendLayouts(
    transaction,
    layouts.map(({ vaultId, ts, positions }) => ({ vault_id: vaultId, ts, positions })),
  )
}

/** Writes changes; the last one of a second replaces the others. */
export function saveVaultChanges(transaction: Transaction, changes: readonly RecordedChange[]): void {
  upsertChanges(transaction, changes.map(changeRow))
}

function changeRow({ vaultId, ts, state, fees }: RecordedChange) {
  return {
    vault_id: vaultId,
    ts,
    phase: state.phase,
    suspension_reason: state.suspension?.reason ?? null,
    suspended_at: state.suspension?.sinceSeconds ?? null,
    fees_taxed_usd: usdText(fees.taxedUsd),
    fees_contributed_usd: fees.isStated ? usdText(fees.contributedUsd) : null,
    fees_withdrawn_usd: fees.isStated ? usdText(fees.withdrawnUsd) : null,
    fees_high_water_usd: fees.isHighWaterStated ? usdText(fees.highWaterUsd) : null,
  }
}
