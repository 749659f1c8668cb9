/** Number of points in a bucket of the first level, and of lower-level buckets in a bucket of any other level. */
export const bucketFan = 4

/** A page holds the downsampling input of all buckets that share one ancestor this many levels above them. */
const pageLevels = 2
export const pageBuckets = bucketFan ** pageLevels

/** Points in a page of the first level. */
export const pagePoints = pageBuckets * bucketFan

/** Maximum level of a page, which has a billion points. */
export const maxPageLevels = 13

/** First level with pages for other curves than net of flows; for shorter series all points are read. */
export const firstCurveLevel = 2

/**
 * Returns the number of complete, and so final, pages of a level. A page is complete once a later point exists, because
 * the newest point may still be replaced by another one of the same second.
 * @param points length of the series
 * @param level level of the buckets in the pages, from 1
 */
export function completePages(points: number, level: number): number {
  return Math.floor(Math.max(0, points - 1) / (pageBuckets * bucketFan ** level))
}

/** Names of the curves of a vault's equity points: gain net of flows, its two parts, and value. */
export type CurveName = 'net' | 'strategy' | 'market' | 'value'

/** A curve over time: points by index, ascending by time. */
export interface Curve {
  readonly length: number
  readonly x: ArrayLike<number>
  readonly y: ArrayLike<number>
}

/**
 * Selects the points that preserve a curve's shape, by largest-triangle-three-buckets: the first, the last, and one of
 * each bucket in between. That point spans the largest triangle with the previously selected point and the mean of the
 * next bucket.
 * @param count number of points to select, at least 2; a curve with at most this many points is selected completely
 * @returns indexes, ascending
 * @see Sveinn Steinarsson, "Downsampling Time Series for Visual Representation", University of Iceland, 2013, section
 *   4.2
 */
export function downsample(curve: Curve, count: number): number[] {
  if (curve.length <= count) return Array.from({ length: curve.length }, (_, index) => index)
  const buckets = count - 2
  // The last bucket contains only the last point, and no bucket follows it.
  const bound = (bucket: number): number =>
    Math.min(1 + Math.floor((bucket * (curve.length - 2)) / buckets), curve.length)
  let kept = 0
  const all = [kept]
  for (let bucket = 0; bucket < buckets; bucket++) {
    const [from, to, end] = [bound(bucket), bound(bucket + 1), bound(bucket + 2)]
    kept = largestTriangle(curve, kept, from, to, mean(curve.x, to, end), mean(curve.y, to, end))
    all.push(kept)
  }
  all.push(curve.length - 1)
  return all
}

/** Which end of a bucket, if any, represents it in addition to its extremes. */
export type KeptEnds = 'none' | 'first' | 'last'

/**
 * Selects the points that represent a bucket of a curve: its smallest and largest value, the earlier of equal ones, and
 * optionally an end. Input of `downsample` for a long series (MinMax preselection before LTTB).
 * @returns indexes, ascending, without duplicates; empty for an empty curve
 * @see Van Der Donckt et al., "MinMaxLTTB: Leveraging MinMax-Preselection to Scale LTTB", IEEE VIS 2023
 */
export function extremePoints({ length, y }: Curve, ends: KeptEnds): number[] {
  let least = 0
  let greatest = 0
  for (let index = 1; index < length; index++) {
    if ((y[index] ?? NaN) < (y[least] ?? NaN)) least = index
    if ((y[index] ?? NaN) > (y[greatest] ?? NaN)) greatest = index
  }
  const kept = new Set([least, greatest])
  if (ends === 'first') kept.add(0)
  if (ends === 'last') kept.add(length - 1)
  return length === 0 ? [] : [...kept].sort((a, b) => a - b)
}

function mean(values: ArrayLike<number>, from: number, to: number): number {
  let sum = 0
  for (let index = from; index < to; index++) sum += values[index] ?? NaN
  return sum / (to - from)
}

/**
 * Returns the index in [from, to) whose point spans the largest triangle with the previously selected point and the
 * mean of the next bucket. The area is compared without its constant factor 1/2.
 */
function largestTriangle(
  { x, y }: Curve,
  before: number,
  from: number,
  to: number,
  meanX: number,
  meanY: number,
): number {
  const beforeX = x[before] ?? NaN
  const beforeY = y[before] ?? NaN
  let best = from
  let bestArea = -1
  for (let index = from; index < to; index++) {
    const across = (beforeX - meanX) * ((y[index] ?? NaN) - beforeY)
    const area = Math.abs(across - (beforeX - (x[index] ?? NaN)) * (meanY - beforeY))
    if (area > bestArea) {
      bestArea = area
      best = index
    }
  }
  return best
}
