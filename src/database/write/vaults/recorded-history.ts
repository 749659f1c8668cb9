import { bytesOrNull } from '../sets.ts'

/** Extent of the recorded history of a vault. Times are Unix seconds. */
export interface RecordedHistory {
  /** Start of the history; null until the first mark of a vault that was opened before versions that record history. */
  readonly since: number | null
  /** Time of the newest mark of `since` or later. */
  readonly markedAt: number | null
  /** Time of the newest stored change. */
  readonly changedAt: number | null
  /** Digest of the newest stored layout. */
  readonly layoutDigest: string | null
}

/** Columns of a vault with the extent of its history. */
export const recordedHistoryColumns = {
  history_since: 'bigint',
  marked_at: 'bigint',
  changed_at: 'bigint',
  layout_digest: 'bytea',
} as const

/** Returns the extent of a vault's history as columns. */
export function recordedHistoryRow({ since, markedAt, changedAt, layoutDigest }: RecordedHistory) {
  return { history_since: since, marked_at: markedAt, changed_at: changedAt, layout_digest: bytesOrNull(layoutDigest) }
}

/** Returns the extent of a vault's history from its columns, digests as hexadecimal digits. */
export function toRecordedHistory(row: ReturnType<typeof recordedHistoryRow>): RecordedHistory {
  return {
    since: row.history_since,
    markedAt: row.marked_at,
    changedAt: row.changed_at,
    layoutDigest: row.layout_digest,
  }
}
