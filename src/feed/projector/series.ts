import type { RecordedDay, RecordedPoint } from '../../database/write/equity.ts'
import type { ChangedDay, DayEnd } from '../../database/write/strategy-day.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'

/** The equity points and days that a batch adds to a vault, ascending: its facts come in order of time. */
export interface SeriesChanges {
  readonly vaultId: number
  readonly strategyId: string
  /** Number of its points before the batch. */
  readonly pointsBefore: number
  /** Its newest day before the batch; null where it had none. */
  readonly dayBefore: DayEnd | null
  readonly points: RecordedPoint[]
  /** Number of points that are already written. */
  written: number
  readonly days: RecordedDay[]
}

/**
 * Returns no changes of the series of a vault.
 * @param before the vault before its first point of the batch; undefined where it was just opened
 */
export function noSeriesChanges({ id, strategyId }: VaultRecord, before: VaultRecord | undefined): SeriesChanges {
  const day = before?.state.day ?? null
  return {
    vaultId: id,
    strategyId,
    pointsBefore: before?.pointCount ?? 0,
    dayBefore: day === null || before === undefined ? null : { day, endUsd: before.state.valueUsd },
    points: [],
    written: 0,
    days: [],
  }
}

/**
 * Adds a point that is not older than the newest, and its day. A point replaces an earlier one of the same second, and retains
 * its mark unless it has one.
 */
export function addPoint({ vaultId, points, days }: SeriesChanges, added: RecordedPoint): void {
  const { ts, state } = added
  const newest = points.at(-1)
  if (newest?.ts !== ts) points.push(added)
  else
    points[points.length - 1] = {
      ...added,
      replacesStored: newest.replacesStored,
      positions: added.positions ?? newest.positions,
      markDigest: added.markDigest ?? newest.markDigest,
    }
  if (state.day === null) return
  const at = days.at(-1)?.day.day === state.day.day ? days.length - 1 : days.length
  days[at] = { vaultId, day: state.day, endUsd: state.valueUsd }
}

/**
 * Returns the points that are not written yet, and counts them as written. While points may follow, holds back the newest one,
 * which a point of the same second may replace.
 * @param isOver whether no further point follows
 */
export function takeUnwrittenPoints(series: SeriesChanges, isOver: boolean): RecordedPoint[] {
  const points = series.points.slice(series.written, isOver ? undefined : -1)
  series.written += points.length
  return points
}

/** Returns the number of points of a vault after a point at `ts`, which replaces one of the same second. */
export function pointCountAfter({ equityAt, pointCount }: VaultRecord, ts: number): number {
  return equityAt === ts ? pointCount : pointCount + 1
}

/** Returns the digest of the mark that a batch has added at a second; undefined where there is none. */
export function addedMark(series: SeriesChanges | undefined, ts: number): string | undefined {
  return series?.points.findLast((point) => point.ts === ts)?.markDigest ?? undefined
}

/** Returns a batch's changes of strategy days: only the newest day of a vault may have been stored before. */
export function changedStrategyDays(series: Iterable<SeriesChanges>): ChangedDay[] {
  return Array.from(series, ({ strategyId, dayBefore, days }) =>
    days.map((after): ChangedDay => {
      return { strategyId, before: dayBefore?.day.day === after.day.day ? dayBefore : null, after }
    }),
  ).flat()
}
