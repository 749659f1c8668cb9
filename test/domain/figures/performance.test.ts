import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type DayGrowth,
  maxPerformanceDays,
  performanceOf,
  wholeDays,
} from '../../../src/domain/figures/performance.ts'

const all = { firstDay: -1, lastDay: 100_000 }

/** Returns the end of a day, in Unix seconds: a newest fact at that time completes the day. */
const endOf = (day: number): number => (day + 1) * 86_400

/** Returns days from the values at their ends, null where there was no fact; the first day starts at 0. */
function daysOf(ends: readonly (number | null)[]): DayGrowth[] {
  let value = 0
  return ends.flatMap((end, day): DayGrowth[] => {
    if (end === null) return []
    const one = { day, hasStart: value !== 0, hasEnd: end !== 0, growth: value === 0 ? 1 : end / value }
    value = end
    return [one]
  })
}

/** Computes the same figures directly from the values at the ends of all days. */
function expected(ends: readonly (number | null)[]) {
  const values: number[] = []
  for (const end of ends) values.push(end ?? values.at(-1) ?? 0)
  const funded = values.slice(values.findIndex((value) => value > 0))
  let worst = 0
  for (let from = 0; from < funded.length; from++)
    for (let to = from; to < funded.length; to++) worst = Math.max(worst, 1 - (funded[to] ?? 0) / (funded[from] ?? 1))
  const logs = funded.slice(1).map((value, index) => Math.log(value / (funded[index] ?? 1)))
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length
  const squares = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0)
  return {
    timeWeightedReturn: (funded.at(-1) ?? 0) / (funded[0] ?? 1) - 1,
    maxDrawdown: worst,
    volatility: logs.length < 30 ? null : Math.sqrt((squares / (logs.length - 1)) * 365),
  }
}

describe('performance', () => {
  test('is that of the values at the ends of all days', () => {
    const value = fc.option(fc.double({ min: 0.5, max: 2_000, noNaN: true }), { freq: 4 })
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 90, size: 'max' }), (ends) => {
        const found = performanceOf(daysOf(ends), { ...all, lastDay: ends.length - 1 }, endOf(ends.length - 1))
        if (ends.every((end) => end === null)) {
          expect(found.timeWeightedReturn).toBeNull()
          return
        }
        const wanted = expected(ends)
        expect(found.timeWeightedReturn).toBeCloseTo(wanted.timeWeightedReturn, 9)
        expect(found.maxDrawdown).toBeCloseTo(wanted.maxDrawdown, 9)
        if (wanted.volatility === null) expect(found.volatility).toBeNull()
        else
          expect((found.volatility ?? NaN) / (wanted.volatility || 1)).toBeCloseTo(wanted.volatility === 0 ? 0 : 1, 9)
      }),
    )
  })

  test('of a window begins with the value carried into it', () => {
    const ends = [100, 110, null, 99, 121, null]
    const window = { firstDay: 2, lastDay: 3 }
    const days = daysOf(ends).filter(({ day }) => day >= 1 && day <= 3)
    expect(performanceOf(days, window, endOf(5))).toMatchObject({ firstDay: 2, lastDay: 3, volatility: null })
    expect(performanceOf(days, window, endOf(5)).timeWeightedReturn).toBeCloseTo(-0.1, 12)
    expect(performanceOf(days, window, endOf(5)).maxDrawdown).toBeCloseTo(0.1, 12)
  })

  test('covers the newest days of a window that is too long, with or without valuations', () => {
    const days = daysOf(
      Array.from({ length: 2 * maxPerformanceDays }, (_, at) => (at % 2 === 0 ? 100 + (at % 3) : null)),
    )
    const last = 2 * maxPerformanceDays - 1
    const read = days.slice(-maxPerformanceDays - 1)
    const newest = { firstDay: last - maxPerformanceDays + 1, lastDay: last }
    expect(performanceOf(read, all, endOf(last))).toMatchObject(newest)
    expect(performanceOf(days, all, endOf(last))).toEqual(performanceOf(days, newest, endOf(last)))
    const earlier = { firstDay: 7, lastDay: last - 10 }
    expect(performanceOf(days, earlier, endOf(last)).firstDay).toBe(last - 10 - maxPerformanceDays + 1)
    expect(performanceOf(days, { ...earlier, firstDay: last - 20 }, endOf(last)).firstDay).toBe(last - 20)
    const centuries = [...daysOf([100]), { day: 2_900_000, hasStart: true, hasEnd: true, growth: 1.1 }]
    expect(performanceOf(centuries, all, endOf(2_900_000)).firstDay).toBe(all.lastDay - maxPerformanceDays + 1)
    const unbounded = { firstDay: -1, lastDay: 3_000_000 }
    expect(performanceOf(centuries, unbounded, endOf(2_900_000)).firstDay).toBe(2_900_000 - maxPerformanceDays + 1)
  })

  test('is null where there was no value, and where too few days are over', () => {
    const none = { firstDay: null, lastDay: null, timeWeightedReturn: null, maxDrawdown: null, volatility: null }
    expect(performanceOf([], all, endOf(10))).toEqual(none)
    expect(performanceOf(daysOf([100, 0]), { firstDay: 5, lastDay: 9 }, endOf(10))).toEqual(none)
    const month = Array.from({ length: 31 }, (_, day) => 100 + (day % 3))
    expect(performanceOf(daysOf(month), all, endOf(30)).volatility).toBeGreaterThan(0)
    expect(performanceOf(daysOf(month), all, endOf(29)).volatility).toBeNull()
  })

  test('counts a day that begins and ends empty where value grew in between', () => {
    const empty = { hasStart: false, hasEnd: false }
    const within = { day: 1, ...empty, growth: 1.5 }
    const after = { day: 3, hasStart: false, hasEnd: true, growth: 1.1 }
    const none = { day: 5, ...empty, growth: 1 }
    expect(performanceOf([within, none], all, endOf(10))).toMatchObject({
      firstDay: 1,
      lastDay: 1,
      timeWeightedReturn: 0.5,
    })
    const found = performanceOf([within, after], { firstDay: 0, lastDay: 4 }, endOf(10))
    expect(found).toMatchObject({ firstDay: 1, lastDay: 4 })
    expect(found.timeWeightedReturn).toBeCloseTo(0.65, 12)
    expect(performanceOf([{ ...none, day: 0 }, within], all, endOf(10))).toMatchObject({ firstDay: 1 })
    expect(performanceOf([none], all, endOf(10)).timeWeightedReturn).toBeNull()
  })

  test('of a loss of everything has no volatility, and a drawdown of 1', () => {
    const ends = [...Array.from({ length: 40 }, (_, day) => 100 + day), 0]
    expect(performanceOf(daysOf(ends), all, endOf(40))).toMatchObject({
      timeWeightedReturn: -1,
      maxDrawdown: 1,
      volatility: null,
    })
  })

  test('beyond the range of a double is no return, and does not affect the other figures', () => {
    const growths = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 1e36 : 1e34))
    const days = growths.map((growth, day) => ({ day, hasStart: true, hasEnd: true, growth }))
    const found = performanceOf([...days, { day: 40, hasStart: true, hasEnd: true, growth: 0.25 }], all, endOf(40))
    expect(found).toMatchObject({ firstDay: 0, lastDay: 40, timeWeightedReturn: null, maxDrawdown: 0.75 })
    expect(found.volatility).toBeGreaterThan(0)
  })

  test('is exact where the product leaves the range of a double and returns', () => {
    const day = (day: number, growth: number) => ({ day, hasStart: true, hasEnd: true, growth })
    for (const extreme of [2 ** 100, 2 ** -100]) {
      const days = Array.from({ length: 80 }, (_, at) => day(at, at < 40 ? extreme : 1 / extreme))
      const found = performanceOf([...days, day(80, 1.5)], all, endOf(80))
      expect(found).toMatchObject({ firstDay: 0, lastDay: 80, timeWeightedReturn: 0.5, maxDrawdown: 1 })
    }
    const gained = Array.from({ length: 12 }, (_, at) => day(at, 2 ** 100))
    const halved = [...gained, day(12, 0.5), day(13, 2 ** -600), day(14, 2 ** -590)]
    expect(performanceOf([...gained, day(12, 0.5)], all, endOf(12)).maxDrawdown).toBe(0.5)
    expect(performanceOf(halved, all, endOf(14)).timeWeightedReturn).toBe(2 ** 9 - 1)
  })

  test('counts the days that are completely in the window', () => {
    expect(wholeDays(0, 86_400)).toEqual({ firstDay: 0, lastDay: 0 })
    expect(wholeDays(1, 2 * 86_400 - 1)).toEqual({ firstDay: 1, lastDay: 0 })
  })
})
