import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeldBytes } from '../../../src/http/server/capacity/held-bytes.ts'
import { MaxHeap } from '../../../src/http/server/capacity/max-heap.ts'

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

interface Step {
  readonly holder: string
  readonly body: Buffer
  readonly isReleased: boolean
}

/** Reference implementation, which iterates over all bodies. */
class NaiveHeldBytes {
  readonly holds: { holder: string; body: Buffer }[] = []

  get bodies(): Set<Buffer> {
    return new Set(this.holds.map(({ body }) => body))
  }

  get total(): number {
    return Array.from(this.bodies, ({ length }) => length).reduce((sum, length) => sum + length, 0)
  }

  holdersOf(body: Buffer): Set<string> {
    return new Set(this.holds.filter((hold) => hold.body === body).map(({ holder }) => holder))
  }

  /** Returns the bytes that only this holder holds. */
  ownOf(holder: string): number {
    const own = [...this.bodies].filter((body) => [...this.holdersOf(body)].join() === holder)
    return own.reduce((sum, { length }) => sum + length, 0)
  }

  /** Returns the largest part of a shared body of this holder: its length divided by its number of holders. */
  sharedOf(holder: string): number {
    const shared = Array.from(this.bodies, (body) => ({ body, holders: this.holdersOf(body) }))
    const parts = shared.flatMap(({ body, holders }) =>
      holders.size > 1 && holders.has(holder) ? [body.length / holders.size] : [],
    )
    return Math.max(0, ...parts)
  }
}

describe('held bytes', () => {
  const names = Array.from('abcdefgh')
  const bodies = Array.from({ length: 12 }, (_, index) => Buffer.alloc((index * index) % 17))
  const step: fc.Arbitrary<Step> = fc.record({
    holder: fc.constantFrom(...names),
    body: fc.constantFrom(...bodies),
    isReleased: fc.boolean(),
  })

  function run(held: HeldBytes<string>, plain: NaiveHeldBytes, { holder, body, isReleased }: Step): void {
    if (!isReleased) {
      held.hold(holder, body)
      plain.holds.push({ holder, body })
      return
    }
    held.release(holder, body)
    const place = plain.holds.findIndex((hold) => hold.holder === holder && hold.body === body)
    if (place >= 0) plain.holds.splice(place, 1)
  }

  test('count each body once; the greatest holder has the most own bytes, or the largest part of a shared body', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const held = new HeldBytes<string>()
        const model = new NaiveHeldBytes()
        for (const each of steps) {
          run(held, model, each)
          expect(held.total).toBe(model.total)
          const weightOf = (name: string): number => Math.max(model.ownOf(name), model.sharedOf(name))
          const { greatest } = held
          const maximum = Math.max(...names.map(weightOf))
          expect(greatest === null ? 0 : weightOf(greatest)).toBe(maximum)
        }
      }),
    )
  })

  test('are zero after each greatest holder in turn has released all of its bodies', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const held = new HeldBytes<string>()
        const model = new NaiveHeldBytes()
        for (const each of steps) run(held, model, each)
        let turns = 0
        for (let { greatest } = held; greatest !== null; greatest = held.greatest) {
          const holder = greatest
          const own = model.holds.filter((hold) => hold.holder === holder)
          for (const { body } of own) run(held, model, { holder, body, isReleased: true })
          expect(++turns).toBeLessThanOrEqual(names.length)
        }
        expect(held.total).toBe(0)
      }),
    )
  })

  test('are read a constant number of times for each change, however many holders there are', () => {
    let reads = 0
    const counted = (length: number): { readonly length: number } => ({
      get length() {
        reads++
        return length
      },
    })
    const held = new HeldBytes<number>()
    const shared = counted(1_000)
    const count = 2_000
    const own = Array.from({ length: count }, (_, holder) => counted(holder))
    for (const [holder, body] of own.entries()) {
      held.hold(holder, body)
      held.hold(holder, shared)
    }
    let cut = 0
    for (let { greatest } = held; greatest !== null; greatest = held.greatest) {
      for (const body of [own[greatest] ?? shared, shared]) held.release(greatest, body)
      cut++
    }
    expect([cut, held.total]).toEqual([count, 0])
    const changes = 4 * count
    expect(reads).toBeLessThanOrEqual(4 * changes)
  })
})
