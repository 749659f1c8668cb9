import { hasSameLayout, type Layout, layoutOf } from '../../database/history/layout.ts'
import type { RecordedPosition } from '../../database/write/position.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import type { RecordedHistory } from '../../database/write/vaults/recorded-history.ts'
import type { VaultFees } from '../../domain/fees.ts'
import type { Changes } from './changes.ts'

/**
 * Returns the recorded history of a vault after a mark, and records the layout of the mark's positions where it is new. A
 * vault without history starts it with this mark, because all later state is known.
 * @param previous positions of the vault's previous mark in the same batch: mostly their layout is the same
 */
export function recordMarkInHistory(
  { id: vaultId, history }: VaultRecord,
  ts: number,
  positions: readonly RecordedPosition[],
  previous: readonly RecordedPosition[] | undefined,
  { layouts }: Pick<Changes, 'layouts'>,
): RecordedHistory {
  const since = history.since ?? ts
  const { changedAt, layoutDigest } = history
  if (previous !== undefined && hasSameLayout(previous, positions))
    return { since, markedAt: ts, changedAt, layoutDigest }
  const layout: Layout = layoutOf(positions)
  if (layout.digest !== layoutDigest) layouts.push({ vaultId, ts, positions: layout.positions })
  return { since, markedAt: ts, changedAt, layoutDigest: layout.digest }
}

/**
 * Returns a vault with its history after a fact, and records the change of its seldom changed state, if any. An equity point
 * stores the phase, so a phase change with a point is recorded only where a change of the same second would hide it.
 * @param hasPoint whether the fact leaves an equity point
 */
export function recordFactInHistory(
  before: VaultRecord,
  after: VaultRecord,
  hasPoint: boolean,
  { vaultChanges }: Pick<Changes, 'vaultChanges'>,
): VaultRecord {
  const { id: vaultId, updatedAt: ts, history, state, fees } = after
  if (history.since === null) return after
  const isChanged =
    before.history.since === null ||
    history.changedAt === ts ||
    before.state.suspension !== state.suspension ||
    (!hasPoint && before.state.phase !== state.phase) ||
    !hasSameStoredFees(before.fees, fees)
  if (!isChanged) return after
  vaultChanges.set(`${after.address} ${ts}`, { vaultId, ts, state, fees })
  return { ...after, history: { ...history, changedAt: ts } }
}

/** Compares the fee values that a stored change holds; values that equity points hold are ignored. */
function hasSameStoredFees(one: VaultFees, other: VaultFees): boolean {
  return (
    one.isStated === other.isStated &&
    one.isHighWaterStated === other.isHighWaterStated &&
    one.taxedUsd.equals(other.taxedUsd) &&
    (!other.isHighWaterStated || one.highWaterUsd.equals(other.highWaterUsd)) &&
    (!other.isStated ||
      (one.contributedUsd.equals(other.contributedUsd) && one.withdrawnUsd.equals(other.withdrawnUsd)))
  )
}
