import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal, one, zero } from '../../src/domain/decimal.ts'
import {
  dayOf,
  dayAt,
  applyGrowth,
  newestCompleteDay,
  realisedFigures,
  type StrategyDay,
  strategyDays,
  strategyReturn,
  windowStart,
} from '../../src/domain/returns.ts'
import { decimals, usd } from '../support/arbitraries.ts'

const secondsPerDay = 86_400
const lastDay = 20_000
const none = { liveApr: null, sigma: null }

const worth = usd.map((value) => value.plus('0.000001'))
const dayNumber = fc.integer({ min: 0, max: 100_000 })

/** Requires a relative difference of less than a billionth. */
function expectNear(actual: number | null, expected: number): void {
  expect(actual).not.toBeNull()
  expect(Math.abs((actual as number) - expected)).toBeLessThanOrEqual(1e-9 * Math.abs(expected))
}

/** Returns the days up to the last, one for each growth. */
function daysOf(growths: readonly (number | string)[], startUsd = '1000'): StrategyDay[] {
  return growths.map((growth, index) => ({
    day: lastDay - growths.length + 1 + index,
    startUsd: new Decimal(startUsd),
    grownUsd: new Decimal(startUsd).times(growth),
  }))
}

describe('a day', () => {
  test.each([
    [1, 0],
    [secondsPerDay - 1, 0],
    [secondsPerDay, 0],
    [secondsPerDay + 1, 1],
    [2 * secondsPerDay, 1],
  ])('has second %i in day %i', (second, day) => {
    expect(dayOf(second)).toBe(day)
  })

  test('begins after a midnight and ends with the next, which belongs to it', () => {
    fc.assert(
      fc.property(dayNumber, fc.integer({ min: 1, max: secondsPerDay }), (day, second) => {
        expect(dayOf(day * secondsPerDay + second)).toBe(day)
      }),
    )
  })

  test('is complete from the midnight that ends it on', () => {
    fc.assert(
      fc.property(dayNumber, fc.integer({ min: 1, max: secondsPerDay }), (day, second) => {
        const complete = second === secondsPerDay ? day : day - 1
        expect(newestCompleteDay(day * secondsPerDay + second)).toBe(complete)
      }),
    )
  })

  test('keeps its start value until the next one, which starts with the value carried', () => {
    fc.assert(
      fc.property(
        dayNumber,
        fc.nat(3),
        fc.nat(secondsPerDay - 1),
        worth,
        worth,
        (day, later, second, start, carried) => {
          const first = dayAt(null, day * secondsPerDay + 1, start)
          expect(first).toEqual({ day, startUsd: start, growth: one })
          const grown = applyGrowth(first, start, carried)
          const next = dayAt(grown, (day + later) * secondsPerDay + 1 + second, carried)
          expect(next).toEqual(later === 0 ? grown : { day: day + later, startUsd: carried, growth: one })
        },
      ),
    )
  })
})

describe("a day's growth", () => {
  const day = { day: 1, startUsd: one, growth: one }

  test('is the last value divided by the first without flows in between', () => {
    fc.assert(
      fc.property(fc.array(worth, { minLength: 2, maxLength: 10 }), (values) => {
        const grown = values
          .slice(1)
          .reduce((current, found, index) => applyGrowth(current, values[index] as Decimal, found), day)
        const [first, last] = [values[0] as Decimal, values.at(-1) as Decimal]
        // Each step is rounded to 40 decimals, and later growth may multiply the error, at most 10^13 times.
        expect(grown.growth.minus(last.div(first)).abs().lessThan('1e-25')).toBe(true)
      }),
    )
  })

  test('is the product of the valuations, each divided by the value carried', () => {
    const valuations = fc.array(fc.record({ carried: fc.integer({ min: 1, max: 1_000 }), found: fc.nat(1_000) }), {
      maxLength: 10,
    })
    fc.assert(
      fc.property(valuations, (list) => {
        const grown = list.reduce(
          (current, { carried, found }) => applyGrowth(current, new Decimal(carried), new Decimal(found)),
          day,
        )
        const product = list.reduce((growth, { carried, found }) => growth * (found / carried), 1)
        expect(Math.abs(grown.growth.toNumber() - product)).toBeLessThanOrEqual(1e-12 * product)
      }),
    )
  })

  test('is unchanged where no value was carried', () => {
    fc.assert(
      fc.property(worth, usd, (growth, found) => {
        const before = { ...day, growth }
        expect(applyGrowth(before, zero, found)).toEqual(before)
      }),
    )
  })

  test('remains 0 after a total loss', () => {
    fc.assert(
      fc.property(worth, worth, worth, (carried, deposited, found) => {
        const lost = applyGrowth(day, carried, zero)
        expect(lost.growth.isZero()).toBe(true)
        expect(applyGrowth(lost, deposited, found).growth.isZero()).toBe(true)
      }),
    )
  })

  test('does not change the day and its start value', () => {
    fc.assert(
      fc.property(dayNumber, worth, worth, usd, (number, startUsd, carried, found) => {
        const grown = applyGrowth({ day: number, startUsd, growth: one }, carried, found)
        expect({ ...grown, growth: one }).toEqual({ day: number, startUsd, growth: one })
      }),
    )
  })
})

describe("a strategy's return of a day", () => {
  test("is the mean of its vaults' growth - 1, weighted by their value at the day's start", () => {
    const vaults = fc.array(fc.record({ start: fc.nat(1_000_000), growth: decimals(1, 6) }), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(vaults, (list) => {
        const total = list.reduce((sum, { start }) => sum + start, 0)
        const result = strategyReturn({
          day: 1,
          startUsd: new Decimal(total),
          grownUsd: list.reduce((sum, { start, growth }) => sum.plus(growth.times(start)), zero),
        })
        if (total === 0) {
          expect(result).toBeNull()
          return
        }
        const mean = list.reduce((sum, { start, growth }) => sum + (start / total) * (growth.toNumber() - 1), 0)
        expect(Math.abs((result as Decimal).toNumber() - mean)).toBeLessThanOrEqual(1e-12)
      }),
    )
  })

  test.each([
    ['100', '110', '0.1'],
    ['100', '100', '0'],
    ['100', '0', '-1'],
    ['0.000001', '0.000003', '2'],
  ])('of %s that grew to %s is %s', (startUsd, grownUsd, expected) => {
    const day = { day: 1, startUsd: new Decimal(startUsd), grownUsd: new Decimal(grownUsd) }
    expect(strategyReturn(day)?.toFixed()).toBe(expected)
  })
})

describe('the days of a strategy', () => {
  /** Days with a valuation of a vault: days since the last one, growth, and the value at the end. */
  const vaultDays = fc.array(
    fc.record({ wait: fc.integer({ min: 1, max: 20 }), growth: decimals(1, 6), endUsd: usd }),
    {
      maxLength: 12,
    },
  )

  test('are the sums over vaults that carry their value from day to day', () => {
    fc.assert(
      fc.property(fc.array(vaultDays, { maxLength: 4 }), fc.boolean(), (vaults, isSummedUp) => {
        const wanted = new Map<number, StrategyDay>()
        for (let day = windowStart(lastDay); day <= lastDay; day++) {
          wanted.set(day, { day, startUsd: zero, grownUsd: zero })
        }
        const changes = vaults.flatMap((valuations) => {
          let [at, startUsd] = [lastDay - 45, zero]
          const add = (until: number, growth: Decimal): void => {
            for (; at < until; at++) addTo(wanted, at, startUsd, one)
            addTo(wanted, at++, startUsd, growth)
          }
          const changed = valuations.map(({ wait, growth, endUsd }) => {
            const day = at + wait - 1
            add(day, growth)
            const change = { day, changeUsd: endUsd.minus(startUsd), gainUsd: startUsd.times(growth.minus(1)) }
            startUsd = endUsd
            return change
          })
          add(lastDay, one)
          return changed
        })
        // Days before the window may stand as one.
        const given = changes.map((change) => {
          const day = isSummedUp ? Math.max(change.day, windowStart(lastDay) - 1) : change.day
          return { ...change, day }
        })
        expect(strategyDays(given.reverse(), lastDay)).toEqual([...wanted.values()])
      }),
    )
  })

  function addTo(days: Map<number, StrategyDay>, day: number, startUsd: Decimal, growth: Decimal): void {
    const known = days.get(day)
    if (known === undefined) return
    const grownUsd = known.grownUsd.plus(startUsd.times(growth))
    days.set(day, { day, startUsd: known.startUsd.plus(startUsd), grownUsd })
  }
})

describe('realised figures', () => {
  const growth = fc.integer({ min: 500_000, max: 2_000_000 }).map((millionths) => millionths / 1_000_000)
  const thirty = fc.array(growth, { minLength: 30, maxLength: 30 })

  test('are null below 30 complete days', () => {
    fc.assert(
      fc.property(fc.array(growth, { maxLength: 29 }), (growths) => {
        expect(realisedFigures(daysOf(growths), lastDay)).toEqual(none)
      }),
    )
  })

  test('are null where a day of the 30 has no return, or is missing', () => {
    fc.assert(
      fc.property(thirty, fc.nat(29), (growths, missing) => {
        const days = daysOf(growths)
        const empty = days.map((day, index) => (index === missing ? { ...day, startUsd: zero, grownUsd: zero } : day))
        expect(realisedFigures(empty, lastDay)).toEqual(none)
        expect(realisedFigures(days.toSpliced(missing, 1), lastDay)).toEqual(none)
      }),
    )
  })

  test('are those of the 30 days that end with the last complete one, for any days before or after', () => {
    fc.assert(
      fc.property(
        thirty,
        fc.array(growth, { maxLength: 5 }),
        fc.array(growth, { maxLength: 5 }),
        (growths, before, after) => {
          const all = daysOf([...before, ...growths, ...after]).map(({ day, ...rest }) => ({
            ...rest,
            day: day + after.length,
          }))
          expect(realisedFigures(all, lastDay)).toEqual(realisedFigures(daysOf(growths), lastDay))
        },
      ),
    )
    expect(windowStart(lastDay)).toBe(lastDay - 29)
  })

  test('do not include older days in place of a missing one', () => {
    const days = daysOf(Array.from({ length: 60 }, () => 1.01))
    expect(
      realisedFigures(
        days.filter(({ day }) => day !== lastDay),
        lastDay,
      ),
    ).toEqual(none)
    expect(
      realisedFigures(
        days.filter(({ day }) => day !== lastDay - 29),
        lastDay,
      ),
    ).toEqual(none)
    expect(
      realisedFigures(
        days.filter(({ day }) => day !== lastDay - 30),
        lastDay,
      ),
    ).not.toEqual(none)
  })

  test('of constant growth are that growth compounded, at no risk', () => {
    fc.assert(
      fc.property(growth, (constant) => {
        const { liveApr, sigma } = realisedFigures(daysOf(Array.from({ length: 30 }, () => constant)), lastDay)
        // Absolute too: growth near 1 leaves few digits after 1 is taken from it.
        const expected = ((constant ** 30 - 1) * 365) / 30
        expect(Math.abs((liveApr as number) - expected)).toBeLessThanOrEqual(1e-9 * Math.abs(expected) + 1e-12)
        // The mean of 30 logarithms of 40 digits can differ in the last digit.
        expect(sigma).toBeLessThan(1e-30)
      }),
    )
  })

  test('of 30 days without gain or loss are 0, not null', () => {
    expect(realisedFigures(daysOf(Array.from({ length: 30 }, () => 1)), lastDay)).toEqual({ liveApr: 0, sigma: 0 })
  })

  test('equal the results in floats for a known month', () => {
    const returns = Array.from({ length: 30 }, (_, index) => ((index * 7) % 11) / 1_000 - 0.004)
    const product = returns.reduce((total, value) => total * (1 + value), 1)
    const logs = returns.map((value) => Math.log(1 + value))
    const mean = logs.reduce((total, value) => total + value, 0) / 30
    const variance = logs.reduce((total, value) => total + (value - mean) ** 2, 0) / 29
    const { liveApr, sigma } = realisedFigures(daysOf(returns.map((value) => (1 + value).toFixed(3))), lastDay)
    expectNear(liveApr, ((product - 1) * 365) / 30)
    expectNear(sigma, Math.sqrt(variance) * Math.sqrt(365))
  })

  test('of two alternating returns have the deviation of a Bernoulli variable', () => {
    // Half of the logarithms are ln(1.02), half are 0: each is ln(1.02) / 2 from the mean.
    const { liveApr, sigma } = realisedFigures(
      daysOf(Array.from({ length: 30 }, (_, index) => (index % 2 ? '1.02' : '1'))),
      lastDay,
    )
    expectNear(liveApr, ((1.02 ** 15 - 1) * 365) / 30)
    expectNear(sigma, (Math.log(1.02) / 2) * Math.sqrt(30 / 29) * Math.sqrt(365))
  })

  test('do not depend on the value of the strategy, nor on the order of its days', () => {
    fc.assert(
      fc.property(thirty, fc.constantFrom('0.5', '1000000000', '1e25'), (growths, startUsd) => {
        const figures = realisedFigures(daysOf(growths), lastDay)
        expect(realisedFigures(daysOf(growths, startUsd), lastDay)).toEqual(figures)
        expect(realisedFigures(daysOf(growths).reverse(), lastDay)).toEqual(figures)
      }),
    )
  })

  test('are null where the product of a month exceeds the range of a double', () => {
    expect(realisedFigures(daysOf(Array.from({ length: 30 }, () => '1e40')), lastDay)).toEqual(none)
  })

  test('of a month with a total loss on a day have the return of a total loss and no sigma', () => {
    fc.assert(
      fc.property(thirty, fc.nat(29), (growths, lost) => {
        expect(realisedFigures(daysOf(growths.with(lost, 0)), lastDay)).toEqual({ liveApr: -365 / 30, sigma: null })
      }),
    )
  })
})
