import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal as BigDecimal } from 'decimal.js'
import { Decimal, divideFine, one, roundUsd } from '../../src/domain/decimal.ts'
import { decimals } from '../support/arbitraries.ts'

const wholeNumber = (digits: number) => fc.bigInt({ min: -(10n ** BigInt(digits)), max: 10n ** BigInt(digits) })

/** Divides integers, rounded half-even. */
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
    // Half of the cases are exact halves, which random numbers rarely are.
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

  test('to 40 decimals is half-even and idempotent', () => {
    fc.assert(
      fc.property(wholeNumber(90), (value) => {
        const once = divideFine(new Decimal(`${value}e-46`), one)
        expect(once.equals(new Decimal(`${divided(value, 1_000_000n)}e-40`))).toBe(true)
        expect(divideFine(once, one)).toEqual(once)
      }),
    )
  })
})

describe('arithmetic', () => {
  test('keeps the product of an amount and a carried quantity exact', () => {
    fc.assert(
      fc.property(wholeNumber(38), wholeNumber(80), (amount, quantity) => {
        const product = new Decimal(`${amount}e-6`).times(new Decimal(`${quantity}e-40`))
        expect(product.equals(new Decimal(`${amount * quantity}e-46`))).toBe(true)
        expect(product.times(new Decimal('1e46')).toFixed()).toBe(`${amount * quantity}`)
      }),
    )
  })

  test('adds and subtracts exactly', () => {
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

describe('compared with decimal.js', () => {
  const Peer = BigDecimal.clone({
    precision: 500,
    rounding: BigDecimal.ROUND_HALF_EVEN,
    toExpNeg: -2_000,
    toExpPos: 2_000,
  })
  const texts = fc.oneof(
    fc.tuple(wholeNumber(45), fc.integer({ min: -45, max: 10 })).map(([units, exponent]) => `${units}e${exponent}`),
    fc.tuple(wholeNumber(3), fc.nat(12)).map(([units, zeros]) => `${units}.${'0'.repeat(zeros)}5${'0'.repeat(zeros)}`),
    fc.constantFrom('0', '1', '-1', '10', '0.1', '0.000', '100.0', '-0.5', '1e3', '5e-7', '2.5E+1'),
  )

  test('all results are equal', () => {
    fc.assert(
      fc.property(texts, texts, fc.nat(50), (one, other, decimals) => {
        const [a, b] = [new Decimal(one), new Decimal(other)]
        const [x, y] = [new Peer(one), new Peer(other)]
        const same = (found: Decimal, wanted: BigDecimal): void => {
          const isZero = wanted.isZero()
          expect(found.toFixed()).toBe(isZero ? '0' : wanted.toFixed())
          expect(found).toEqual(new Decimal(found.toFixed()))
          expect(found.decimalPlaces()).toBe(isZero ? 0 : wanted.decimalPlaces())
          expect(found.toFixed(decimals)).toBe(wanted.toFixed(decimals).replace(/^-(?=[0.]*$)/, ''))
          expect(found.exceeds(decimals)).toBe(!isZero && wanted.e >= decimals)
        }
        same(a, x)
        same(a.plus(b), x.plus(y))
        same(a.minus(b), x.minus(y))
        same(a.times(b), x.times(y))
        same(a.abs(), x.abs())
        same(a.pow(3), x.pow(3))
        same(a.toDecimalPlaces(decimals), x.toDecimalPlaces(decimals))
        same(Decimal.max(a, b), Peer.max(x, y))
        expect(a.comparedTo(b)).toBe(x.comparedTo(y))
        expect([a.equals(b), a.lessThan(b), a.lessThanOrEqualTo(b), a.greaterThan(b)]).toEqual([
          ...[x.equals(y), x.lessThan(y), x.lessThanOrEqualTo(y), x.greaterThan(y)],
        ])
        expect(a.toNumber()).toBe(x.isZero() ? 0 : x.toNumber())
        if (y.isZero()) {
          expect(() => a.div(b)).toThrow(RangeError)
          return
        }
        same(a.div(b, decimals), x.div(y).toDecimalPlaces(decimals))
        const error = new Peer(a.div(b).times(b).minus(a).toFixed()).abs()
        expect(error.lessThanOrEqualTo(x.abs().times('1e-159'))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test.each(['', ' ', '.5', '1 ', '0x10', 'NaN', '--1', '1e', '1e1001', '1e-99999', '+1'])('%j is refused', (text) => {
    expect(() => new Decimal(text)).toThrow(RangeError)
  })
})
