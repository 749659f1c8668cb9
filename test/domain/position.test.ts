import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal } from '../../src/domain/decimal.ts'
import { isInRange, type Range } from '../../src/domain/position.ts'

const bounds = fc.record({ lower: fc.integer(), upper: fc.integer(), current: fc.integer() })
const standing = fc.record({ lower: fc.integer(), width: fc.nat(20), offset: fc.integer({ min: -25, max: 25 }) })

function pricesOf({ lower, upper, current }: Range<number | string>): Range<Decimal> {
  return { lower: new Decimal(lower), upper: new Decimal(upper), current: new Decimal(current) }
}

describe('a position', () => {
  test.each([
    ['89.999999999999999999', false],
    ['90', true],
    ['90.000000000000000001', true],
    ['109.999999999999999999', true],
    ['110', false],
    ['110.000000000000000001', false],
  ])('from 90 to 110 with the price at %s is in range: %s', (current, expected) => {
    expect(isInRange(pricesOf({ lower: '90', upper: '110', current }), null)).toBe(expected)
  })

  test('is in range from its lower bound on to just before its upper one', () => {
    fc.assert(
      fc.property(standing, ({ lower, width, offset }) => {
        const range = { lower, upper: lower + width, current: lower + offset }
        const expected = offset >= 0 && offset < width
        expect(isInRange(pricesOf(range), null)).toBe(expected)
        expect(isInRange(pricesOf({ lower: 0, upper: 0, current: 0 }), range)).toBe(expected)
      }),
    )
  })

  test('depends on its ticks alone where they are known', () => {
    fc.assert(
      fc.property(bounds, bounds, bounds, (ticks, some, others) => {
        expect(isInRange(pricesOf(some), ticks)).toBe(isInRange(pricesOf(others), ticks))
      }),
    )
  })

  test('at the price of its lower bound may be out of range, by its tick', () => {
    const prices = pricesOf({ lower: '90', upper: '110', current: '90' })
    expect(isInRange(prices, { lower: -10, upper: 10, current: -11 })).toBe(false)
    expect(isInRange(prices, { lower: -10, upper: 10, current: -10 })).toBe(true)
  })

  test('with no width is never in range', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (bound, current) => {
        const range = { lower: bound, upper: bound, current }
        expect(isInRange(pricesOf(range), null)).toBe(false)
        expect(isInRange(pricesOf(range), range)).toBe(false)
      }),
    )
  })
})
