import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MaxHeap } from '../../src/fairness/max-heap.ts'

describe('the key with the greatest weight', () => {
  const key = fc.nat({ max: 30 })
  const change = fc.oneof(
    { weight: 2, arbitrary: fc.tuple(key, fc.integer({ min: -50, max: 50 })) },
    { weight: 1, arbitrary: fc.tuple(key, fc.constant(null)) },
  )

  test('equals that of a Map after any changes', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const heap = new MaxHeap<number>()
        const model = new Map<number, number>()
        for (const [key, weight] of changes) {
          if (weight === null) heap.delete(key)
          else heap.set(key, weight)
          if (weight === null) model.delete(key)
          else model.set(key, weight)
          expect([heap.size, heap.weightOf(key)]).toEqual([model.size, model.get(key) ?? null])
          const { heaviest } = heap
          expect(heaviest?.weight).toEqual(model.size === 0 ? undefined : Math.max(...model.values()))
          if (heaviest !== null) expect(model.get(heaviest.key)).toBe(heaviest.weight)
        }
      }),
    )
  })

  test('is removed repeatedly: the keys are in descending order of their weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (weights) => {
        const heap = new MaxHeap<number>()
        for (const [key, weight] of weights.entries()) heap.set(key, weight)
        const order: number[] = []
        for (let { heaviest } = heap; heaviest !== null; heaviest = heap.heaviest) {
          order.push(heaviest.weight)
          heap.delete(heaviest.key)
        }
        expect(order).toEqual(weights.toSorted((a, b) => b - a))
      }),
    )
  })

  test('takes logarithmic time: each change compares a few weights on each level', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 2, maxLength: 3_000, size: 'max' }), (numbers) => {
        let compared = 0
        const counted = (number: number): number => {
          const valueOf = (): number => {
            compared++
            return number
          }
          // Compared by < and > like a number, and counted.
          return { valueOf } as unknown as number
        }
        const heap = new MaxHeap<number>()
        for (const [key, number] of numbers.entries()) heap.set(key, counted(number))
        for (let { heaviest } = heap; heaviest !== null; heaviest = heap.heaviest) heap.delete(heaviest.key)
        const levels = Math.ceil(Math.log2(numbers.length + 1))
        expect(compared).toBeGreaterThan(0)
        // Two comparisons of two weights on each level, and two more where none is passed.
        expect(compared).toBeLessThanOrEqual(2 * numbers.length * (4 * levels + 4))
      }),
      { numRuns: 30 },
    )
  })
})
