import type { EquityRow } from '../database/read/rows.ts'

/** A point with the previously served point, from which its change is computed. */
export interface ServedPoint extends EquityRow {
  readonly before: EquityRow | null
}

/** Adds to each point the one before it; null for the first. */
export function withBefore(rows: readonly EquityRow[]): ServedPoint[] {
  return rows.map(({ vaultAddress, ts, valueUsd, capitalInUsd, capitalOutUsd, netUsd, marketDeltaUsd }, order) => {
    const before = rows[order - 1] ?? null
    return { vaultAddress, ts, valueUsd, capitalInUsd, capitalOutUsd, netUsd, marketDeltaUsd, before }
  })
}
