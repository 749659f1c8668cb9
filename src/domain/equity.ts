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
  x(index: number): number
  y(index: number): number
}

/**
 * Which points of a curve keep its shape: the first, the last, and between them the one of each bucket that spans the
 * largest triangle with the point kept before it and the mean of the bucket after it (largest-triangle-three-buckets,
 * Steinarsson 2013).
 * @param count how many to keep, 2 or more; a shorter curve is kept whole
 * @returns indexes, ascending
 */
export function downsample(curve: Curve, count: number): number[] {
  const last = curve.length - 1
  if (curve.length <= count) return Array.from({ length: curve.length }, (_, index) => index)
  const buckets = count - 2
  const bound = (bucket: number): number => 1 + Math.floor((bucket * (curve.length - 2)) / buckets)
  const kept = [0]
  for (let bucket = 0; bucket < buckets; bucket++) {
    const next =
      bucket === buckets - 1
        ? { x: curve.x(last), y: curve.y(last) }
        : mean(curve, bound(bucket + 1), bound(bucket + 2))
    kept.push(largestTriangle(curve, kept.at(-1) ?? 0, bound(bucket), bound(bucket + 1), next))
  }
  kept.push(last)
  return kept
}

/**
 * What a bucket of a curve is told by: its first point, its last, its least and its greatest, the earlier of equals.
 * @returns indexes, ascending, each once
 */
export function outline(curve: Curve): number[] {
  let least = 0
  let greatest = 0
  for (let index = 1; index < curve.length; index++) {
    if (curve.y(index) < curve.y(least)) least = index
    if (curve.y(index) > curve.y(greatest)) greatest = index
  }
  const ends = new Set([0, least, greatest, curve.length - 1])
  return curve.length === 0 ? [] : [...ends].sort((a, b) => a - b)
}

interface Point {
  readonly x: number
  readonly y: number
}

function mean(curve: Curve, from: number, to: number): Point {
  let x = 0
  let y = 0
  for (let index = from; index < to; index++) {
    x += curve.x(index)
    y += curve.y(index)
  }
  return { x: x / (to - from), y: y / (to - from) }
}

function largestTriangle(curve: Curve, before: number, from: number, to: number, next: Point): number {
  const x = curve.x(before)
  const y = curve.y(before)
  let best = from
  let bestArea = -1
  for (let index = from; index < to; index++) {
    const area = Math.abs((x - next.x) * (curve.y(index) - y) - (x - curve.x(index)) * (next.y - y))
    if (area > bestArea) {
      bestArea = area
      best = index
    }
  }
  return best
}
