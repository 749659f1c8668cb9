import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal, roundFine, roundUsd } from '../../src/domain/decimal.ts'
import { decimals } from '../support/arbitraries.ts'

const wholeNumber = (digits: number) => fc.bigInt({ min: -(10n ** BigInt(digits)), max: 10n ** BigInt(digits) })

/** Half-even in whole numbers. */
function divided(numerator: bigint, divisor: bigint): bigint {
  const quotient = numerator / divisor
  const twice = (numerator % divisor) * 2n
  const away = numerator < 0n ? -1n : 1n
  const size = twice < 0n ? -twice : twice
  if (size > divisor || (size === divisor && quotient % 2n !== 0n)) return quotient + away
  return quotient
}

describe('rounding', () => {
  test.each([
    ['0.0000005', '0'],
    ['0.0000015', '0.000002'],
    ['0.0000025', '0.000002'],
    ['-0.0000015', '-0.000002'],
    ['-0.0000025', '-0.000002'],
    ['0.00000150000000000000000000000000000001', '0.000002'],
    ['0.00000050000000000000000000000000000001', '0.000001'],
  ])('takes %s to the even micro-dollar, %s', (amount, rounded) => {
    expect(roundUsd(new Decimal(amount)).toFixed()).toBe(rounded)
  })

  test('is half-even at any size', () => {
    // Last digits of 5 and zeros are what a random number never has: half of the cases are exact halves.
    const units = fc.oneof(
      wholeNumber(50),
      wholeNumber(38).map((half) => half * 1_000_000n + 500_000n),
    )
    fc.assert(
      fc.property(units, (value) => {
        expect(
          roundUsd(new Decimal(`${value}e-12`))
            .times(1_000_000)
            .toFixed(),
        ).toBe(`${divided(value, 1_000_000n)}`)
      }),
    )
  })

  test('to 40 decimals is half-even, and done once it changes nothing more', () => {
    fc.assert(
      fc.property(wholeNumber(90), (value) => {
        const once = roundFine(new Decimal(`${value}e-46`))
        expect(once.equals(new Decimal(`${divided(value, 1_000_000n)}e-40`))).toBe(true)
        expect(roundFine(once).equals(once)).toBe(true)
      }),
    )
  })
})

describe('arithmetic', () => {
  test('holds the product of an amount and a carried quantity whole', () => {
    fc.assert(
      fc.property(wholeNumber(38), wholeNumber(80), (amount, quantity) => {
        const product = new Decimal(`${amount}e-6`).times(new Decimal(`${quantity}e-40`))
        expect(product.equals(new Decimal(`${amount * quantity}e-46`))).toBe(true)
        expect(product.times(new Decimal('1e46')).toFixed()).toBe(`${amount * quantity}`)
      }),
    )
  })

  test('adds and takes away exactly', () => {
    fc.assert(
      fc.property(wholeNumber(38), wholeNumber(38), (a, b) => {
        const sum = new Decimal(`${a}e-6`).plus(new Decimal(`${b}e-6`))
        expect(sum.times(1_000_000).toFixed()).toBe(`${a + b}`)
        expect(
          sum
            .minus(new Decimal(`${b}e-6`))
            .times(1_000_000)
            .toFixed(),
        ).toBe(`${a}`)
      }),
    )
  })

  test('never writes an exponent', () => {
    fc.assert(
      fc.property(decimals(60, 18), decimals(1, 40), (large, small) => {
        expect(`${String(large)} ${JSON.stringify(small)}`).not.toMatch(/e/i)
      }),
    )
  })
})
