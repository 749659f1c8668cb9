import type { EquityRow } from '../database/read/rows.ts'
import { downsample } from '../domain/equity.ts'

/** A point as it is served: beside it the one served before it, which its change is counted from. */
export interface ServedPoint extends EquityRow {
  readonly before: EquityRow | null
}

/** The points that keep the shape of the net-of-flows curve, all of them recorded ones. */
export function servedPoints(rows: readonly EquityRow[], count: number): ServedPoint[] {
  const at = (index: number): EquityRow => rows[index] as EquityRow
  const netUsd = Float64Array.from(rows, (row) => Number(row.netUsd))
  const kept = downsample(
    { length: rows.length, x: (index) => at(index).ts, y: (index) => netUsd[index] as number },
    count,
  )
  return kept.map((index, order) => ({ ...at(index), before: order === 0 ? null : at(kept[order - 1] as number) }))
}
