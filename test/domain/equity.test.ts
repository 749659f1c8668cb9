import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completePages, type Curve, downsample, extremePoints, type KeptEnds } from '../../src/domain/equity.ts'

interface Point {
  readonly x: number
  readonly y: number
}

/** Integers, small enough for exact products. */
const points = (least: number) =>
  fc
    .array(fc.record({ step: fc.integer({ min: 1, max: 50 }), y: fc.integer({ min: -10_000, max: 10_000 }) }), {
      minLength: least,
      maxLength: 200,
    })
    .map((steps) => {
      let x = 0
      return steps.map(({ step, y }): Point => ({ x: (x += step), y }))
    })

const count = fc.integer({ min: 2, max: 60 })

function curveOf(list: readonly Point[]): Curve {
  return { length: list.length, x: list.map(({ x }) => x), y: list.map(({ y }) => y) }
}

/** Returns the indexes of the points of each bucket between the first and the last point. */
function bucketsOf(length: number, count: number): number[][] {
  const edge = (bucket: number): number => Math.floor((bucket * (length - 2)) / (count - 2)) + 1
  return Array.from({ length: count - 2 }, (_, bucket) =>
    Array.from({ length: edge(bucket + 1) - edge(bucket) }, (_, index) => edge(bucket) + index),
  )
}

/** Returns the area of a triangle of two points and the mean of others, times twice their number: an integer. */
function triangle(a: Point, b: Point, others: readonly Point[]): number {
  const doubled = others.map((c) => (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y))
  return Math.abs(doubled.reduce((sum, area) => sum + area, 0))
}

describe('a downsampled curve', () => {
  test('that is not longer than the requested number of points is complete', () => {
    fc.assert(
      fc.property(points(0), fc.nat(20), (list, more) => {
        const requested = Math.max(2, list.length + more)
        expect(downsample(curveOf(list), requested)).toEqual(list.map((_, index) => index))
      }),
    )
  })

  test('has the requested number of recorded points, in order, with the first and the last', () => {
    fc.assert(
      fc.property(points(2), count, (list, requested) => {
        const kept = downsample(curveOf(list), requested)
        expect(kept).toHaveLength(Math.min(requested, list.length))
        expect(kept[0]).toBe(0)
        expect(kept.at(-1)).toBe(list.length - 1)
        kept.forEach((index, order) => {
          expect(list[index]).toBeDefined()
          if (order > 0) expect(index).toBeGreaterThan(kept[order - 1] as number)
        })
      }),
    )
  })

  test('keeps the point of each bucket that spans the largest triangle', () => {
    fc.assert(
      fc.property(points(4), count, (list, requested) => {
        fc.pre(requested > 2 && requested < list.length)
        const kept = downsample(curveOf(list), requested)
        const at = (index: number | undefined): Point => list[index as number] as Point
        const buckets = bucketsOf(list.length, requested)
        buckets.forEach((bucket, order) => {
          const next = (buckets[order + 1] ?? [list.length - 1]).map(at)
          const areas = bucket.map((index) => triangle(at(kept[order]), at(index), next))
          const chosen = kept[order + 1] as number
          expect(bucket).toContain(chosen)
          expect(areas[bucket.indexOf(chosen)]).toBe(Math.max(...areas))
        })
      }),
      { numRuns: 300 },
    )
  })

  test('keeps a single spike, of any height at any index', () => {
    const place = fc.tuple(fc.integer({ min: 5, max: 2_000 }), count, fc.nat()).map(([length, requested, at]) => ({
      length,
      requested: Math.max(3, requested),
      at: 1 + (at % (length - 2)),
    }))
    fc.assert(
      fc.property(place, fc.constantFrom(-1e9, -0.01, 0.000001, 1, 1e12), ({ length, requested, at }, height) => {
        const list = Array.from({ length }, (_, index) => ({
          x: 1_700_000_000 + 3_600 * index,
          y: index === at ? height : 0,
        }))
        const kept = downsample(curveOf(list), requested)
        expect(kept).toContain(at)
      }),
    )
  })

  test('of two points is the first and the last', () => {
    fc.assert(
      fc.property(points(2), (list) => {
        expect(downsample(curveOf(list), 2)).toEqual([0, list.length - 1])
      }),
    )
  })

  test('equals an example computed by hand', () => {
    const y = [0, 5, 1, -9, 2, 3, 8, 0]
    // From (0, 0): the buckets 1-3 and 4-6; (3, -9) spans more than (1, 5) with the mean (5, 13/3), then (6, 8).
    expect(downsample({ length: y.length, x: [...y.keys()], y }, 4)).toEqual([0, 3, 6, 7])
  })
})

describe('the extreme points of a curve', () => {
  test('are the least and the greatest, the earlier of equals, and an end, in order and each once', () => {
    fc.assert(
      fc.property(points(1), fc.constantFrom<KeptEnds>('none', 'first', 'last'), (list, end) => {
        const kept = extremePoints(curveOf(list), end)
        const values = list.map(({ y }) => y)
        const ends = [
          ...(end === 'none' ? [] : end === 'first' ? [0] : [list.length - 1]),
          values.indexOf(Math.min(...values)),
          values.indexOf(Math.max(...values)),
        ]
        expect(kept).toEqual([...new Set(ends)].sort((a, b) => a - b))
      }),
    )
  })

  test('of no points are none', () => {
    expect(extremePoints(curveOf([]), 'first')).toEqual([])
  })
})

describe('a page is complete with the point after its last:', () => {
  test.each([
    [0, 1, 0],
    [64, 1, 0],
    [65, 1, 1],
    [128, 1, 1],
    [129, 1, 2],
    [256, 2, 0],
    [257, 2, 1],
    [200_000, 3, 195],
    [2_147_483_647, 13, 1],
  ])('of %i points, level %i has %i', (points, level, pages) => {
    expect(completePages(points, level)).toBe(pages)
  })
})
