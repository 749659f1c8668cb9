import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeldBytes } from '../../../src/http/server/capacity/held-bytes.ts'
import { MaxHeap } from '../../../src/http/server/capacity/max-heap.ts'

describe('the heaviest key', () => {
  const key = fc.nat({ max: 30 })
  const change = fc.oneof(
    { weight: 2, arbitrary: fc.tuple(key, fc.integer({ min: -50, max: 50 })) },
    { weight: 1, arbitrary: fc.tuple(key, fc.constant(null)) },
  )

  test('is that of a plain map, whatever is set and deleted', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const heap = new MaxHeap<number>()
        const plain = new Map<number, number>()
        for (const [key, weight] of changes) {
          if (weight === null) heap.delete(key)
          else heap.set(key, weight)
          if (weight === null) plain.delete(key)
          else plain.set(key, weight)
          expect([heap.size, heap.weightOf(key)]).toEqual([plain.size, plain.get(key) ?? null])
          const { heaviest } = heap
          expect(heaviest?.weight).toEqual(plain.size === 0 ? undefined : Math.max(...plain.values()))
          if (heaviest !== null) expect(plain.get(heaviest.key)).toBe(heaviest.weight)
        }
      }),
    )
  })

  test('comes first until none is left, so that the keys come in the order of their weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (weights) => {
        const heap = new MaxHeap<number>()
        for (const [key, weight] of weights.entries()) heap.set(key, weight)
        const came: number[] = []
        for (let { heaviest } = heap; heaviest !== null; heaviest = heap.heaviest) {
          came.push(heaviest.weight)
          heap.delete(heaviest.key)
        }
        expect(came).toEqual(weights.toSorted((a, b) => b - a))
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
          // Compared by < and > like a number, which is told.
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

/** The law, by looking at everything. */
class Plain {
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

  /** The bytes that would be free without a holder. */
  ownOf(holder: string): number {
    const own = [...this.bodies].filter((body) => [...this.holdersOf(body)].join() === holder)
    return own.reduce((sum, { length }) => sum + length, 0)
  }

  /** The most bytes for each holder that a body of this holder has, where others hold it too. */
  sharedOf(holder: string): number {
    const shared = Array.from(this.bodies, (body) => ({ body, holders: this.holdersOf(body) }))
    const parts = shared.flatMap(({ body, holders }) =>
      holders.size > 1 && holders.has(holder) ? [body.length / holders.size] : [],
    )
    return Math.max(0, ...parts)
  }
}

describe('the bytes that are held', () => {
  const names = Array.from('abcdefgh')
  const bodies = Array.from({ length: 12 }, (_, index) => Buffer.alloc((index * index) % 17))
  const step: fc.Arbitrary<Step> = fc.record({
    holder: fc.constantFrom(...names),
    body: fc.constantFrom(...bodies),
    isReleased: fc.boolean(),
  })

  function run(held: HeldBytes<string>, plain: Plain, { holder, body, isReleased }: Step): void {
    if (!isReleased) {
      held.hold(holder, body)
      plain.holds.push({ holder, body })
      return
    }
    held.release(holder, body)
    const place = plain.holds.findIndex((hold) => hold.holder === holder && hold.body === body)
    if (place >= 0) plain.holds.splice(place, 1)
  }

  test('count each body once; and the greatest holder has the most of its own, or of a shared one for each holder', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const held = new HeldBytes<string>()
        const plain = new Plain()
        for (const each of steps) {
          run(held, plain, each)
          expect(held.total).toBe(plain.total)
          const weightOf = (name: string): number => Math.max(plain.ownOf(name), plain.sharedOf(name))
          const { greatest } = held
          const most = Math.max(...names.map(weightOf))
          expect(greatest === null ? 0 : weightOf(greatest)).toBe(most)
        }
      }),
    )
  })

  test('are none when every greatest holder in turn has let go of all', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const held = new HeldBytes<string>()
        const plain = new Plain()
        for (const each of steps) run(held, plain, each)
        let turns = 0
        for (let { greatest } = held; greatest !== null; greatest = held.greatest) {
          const holder = greatest
          const own = plain.holds.filter((hold) => hold.holder === holder)
          for (const { body } of own) run(held, plain, { holder, body, isReleased: true })
          expect(++turns).toBeLessThanOrEqual(names.length)
        }
        expect(held.total).toBe(0)
      }),
    )
  })

  test('are looked at a few times for each change, however many hold them', () => {
    let looked = 0
    const counted = (length: number): { readonly length: number } => ({
      get length() {
        looked++
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
    expect(looked).toBeLessThanOrEqual(4 * changes)
  })
})
