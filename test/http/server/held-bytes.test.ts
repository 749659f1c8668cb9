import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeldBytes } from '../../../src/http/server/capacity/held-bytes.ts'

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
