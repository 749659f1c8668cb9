/** How many points a bucket of the first level holds, and how many buckets of the level below one of any other. */
export const bucketFan = 4

/** Enough for all the points that can be counted. */
export const mostBucketLevels = 15

/** A page holds the candidates of as many buckets as one that stands so many levels above theirs. */
export const pageLevels = 3
export const pageBuckets = bucketFan ** pageLevels

/**
 * How many buckets of a level a series of so many points has. A bucket is sealed when a later point has come, since the
 * newest may yet be replaced by another of its second.
 */
export function sealedBuckets(points: number, level: number): number {
  return Math.floor(Math.max(0, points - 1) / bucketFan ** level)
}

/** A curve over time: points by index, in order of time. */
export interface Curve {
  readonly length: number
  readonly x: ArrayLike<number>
  readonly y: ArrayLike<number>
}

/**
 * Which points of a curve keep its shape: the first, the last, and between them the one of each bucket that spans the
 * largest triangle with the point kept before it and the mean of the bucket after it (largest-triangle-three-buckets,
 * Steinarsson 2013).
 * @param count how many to keep, 2 or more; a shorter curve is kept whole
 * @returns indexes, ascending
 */
export function downsample(curve: Curve, count: number): number[] {
  if (curve.length <= count) return Array.from({ length: curve.length }, (_, index) => index)
  const buckets = count - 2
  // Of the bucket after the last, which is the last point alone, there is no more.
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

/**
 * What a bucket of a curve is told by: its first point, its last, its least and its greatest, the earlier of equals.
 * @returns indexes, ascending, each once
 */
export function outline({ length, y }: Curve): number[] {
  let least = 0
  let greatest = 0
  for (let index = 1; index < length; index++) {
    if ((y[index] ?? NaN) < (y[least] ?? NaN)) least = index
    if ((y[index] ?? NaN) > (y[greatest] ?? NaN)) greatest = index
  }
  const ends = new Set([0, least, greatest, length - 1])
  return length === 0 ? [] : [...ends].sort((a, b) => a - b)
}

function mean(values: ArrayLike<number>, from: number, to: number): number {
  let sum = 0
  for (let index = from; index < to; index++) sum += values[index] ?? NaN
  return sum / (to - from)
}

/** Of a bucket's points the one that spans the most with the point kept before, and the mean of the bucket after. */
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
