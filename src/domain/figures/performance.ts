import { dayOf, newestCompleteDay, secondsPerDay } from '../returns.ts'

/** Growth of a vault's or a strategy's value over one UTC day, without flows. */
export interface DayGrowth {
  /** Days since 1970-01-01. */
  readonly day: number
  /** Whether there was value at the start of the day. */
  readonly hasStart: boolean
  /** Whether there was value at the end of the day. */
  readonly hasEnd: boolean
  /** Growth factor: 1 for a day without gain or loss. Below 10^100, by the digits of stored amounts. */
  readonly growth: number
}

/** Figures for comparison by investors, over the whole days of a window, as fractions: 0.12 is 12 %. */
export interface Performance {
  /** First and last day with value, in days since 1970-01-01; null if there was no value. */
  readonly firstDay: number | null
  readonly lastDay: number | null
  /** Compounded growth minus 1, not annualised; null if there was no value, and beyond the range of a double. */
  readonly timeWeightedReturn: number | null
  /** Greatest loss since the end of an earlier day; null if there was no value. */
  readonly maxDrawdown: number | null
  /** Annualised; null with fewer than 30 daily returns, and if a day lost everything. */
  readonly volatility: number | null
}

/** The whole UTC days of a window. */
export interface DayWindow {
  readonly firstDay: number
  readonly lastDay: number
}

/** Minimum number of daily returns for a volatility, as for a strategy's sigma. */
const minReturns = 30
const daysPerYear = 365
/** Maximum number of days of a window, ten years: of a longer one only the newest count, with or without a valuation. */
export const maxPerformanceDays = 3_660

/** The performance of a window without value. */
export const noPerformance: Performance = {
  firstDay: null,
  lastDay: null,
  timeWeightedReturn: null,
  maxDrawdown: null,
  volatility: null,
}

/**
 * Returns the UTC days that lie completely between two times.
 * @param since Unix seconds
 * @param until Unix seconds
 */
export function wholeDays(since: number, until: number): DayWindow {
  return { firstDay: Math.ceil(since / secondsPerDay), lastDay: Math.floor(until / secondsPerDay) - 1 }
}

/**
 * Computes the performance over days.
 * @param days in ascending order: the newest day before the window, if any, and the days in it. Of these, the newest
 *   `maxPerformanceDays` + 1 suffice. An omitted day has neither gain nor loss.
 * @param requested its newest `maxPerformanceDays` count, up to the day of the newest fact
 * @param newestTs Unix seconds of the newest fact, whether it is a valuation or not: value is carried to its day. That day, if
 *   it is not over at this time, is excluded from the volatility only.
 * @see GIPS Standards for Firms, "time-weighted return"; Hull, Options, Futures, and Other Derivatives, "Estimating
 *   volatility from historical data"; Magdon-Ismail and Atiya, "Maximum Drawdown", Risk 17(10), 2004
 */
export function performanceOf(days: readonly DayGrowth[], requested: DayWindow, newestTs: number): Performance {
  const newestDay = dayOf(newestTs)
  const oldestDay = Math.min(requested.lastDay, newestDay) - maxPerformanceDays + 1
  const window = { ...requested, firstDay: Math.max(requested.firstDay, oldestDay) }
  const { growth, firstDay, lastDay, maxDrawdown } = walk(days, window, newestDay)
  if (firstDay === null) return noPerformance
  return {
    firstDay,
    lastDay,
    timeWeightedReturn: Number.isFinite(growth) ? growth - 1 : null,
    maxDrawdown,
    volatility: volatilityOf(
      dailyReturns(days, { ...window, lastDay: Math.min(window.lastDay, newestCompleteDay(newestTs)) }),
    ),
  }
}

/** The index of a window is kept within this factor of 1, by exact divisions: its ratio to the peak is then never lost. */
const indexRange = 2 ** 256

/** Multiplies the growth of the days in a window, and finds the greatest loss. */
function walk(days: readonly DayGrowth[], { firstDay: from, lastDay: to }: DayWindow, newestDay: number) {
  const before = days.findLast(({ day }) => day < from)
  let firstDay = before?.hasEnd === true && from <= Math.min(to, newestDay) ? from : null
  let lastDay = firstDay
  // The compounded growth is the index times `indexRange` to the power of the exponent.
  let [index, peak, exponent, maxDrawdown] = [1, 1, 0, 0]
  let hasEnd = before?.hasEnd === true
  for (const day of days) {
    if (day.day < from || day.day > to || !counts(day)) continue
    firstDay ??= day.day
    lastDay = day.day
    index *= day.growth
    peak = Math.max(peak, index)
    maxDrawdown = Math.max(maxDrawdown, 1 - index / peak)
    for (; index > indexRange; exponent++) [index, peak] = [index / indexRange, peak / indexRange]
    for (; index !== 0 && index * indexRange < 1; exponent--) [index, peak] = [index * indexRange, peak * indexRange]
    hasEnd = day.hasEnd
  }
  // Value without a valuation is carried to the end of the window, or to the newest fact.
  if (hasEnd && lastDay !== null) lastDay = Math.max(lastDay, Math.min(to, newestDay))
  for (; exponent > 0; exponent--) index *= indexRange
  for (; exponent < 0; exponent++) index /= indexRange
  return { growth: index, firstDay, lastDay: firstDay === null ? null : lastDay, maxDrawdown }
}

/** Returns whether there was value at the start or the end of a day, or in between with a gain or loss. */
function counts({ hasStart, hasEnd, growth }: DayGrowth): boolean {
  return hasStart || hasEnd || growth !== 1
}

/** Returns the growth of each day of a window that started with value; 1 for an omitted day. */
function dailyReturns(days: readonly DayGrowth[], { firstDay, lastDay }: DayWindow): number[] {
  const growths: number[] = []
  let hasValue = false
  let next = firstDay
  const carryTo = (day: number): void => {
    for (; next < day; next++) if (hasValue) growths.push(1)
  }
  for (const { day, hasStart, hasEnd, growth } of days) {
    if (day > lastDay) break
    if (day >= firstDay) {
      carryTo(day)
      if (hasStart) growths.push(growth)
      next = day + 1
    }
    hasValue = hasEnd
  }
  carryTo(lastDay + 1)
  return growths
}

function volatilityOf(growths: readonly number[]): number | null {
  if (growths.length < minReturns || growths.some((growth) => growth === 0)) return null
  const logarithms = growths.map((growth) => Math.log(growth))
  const mean = sum(logarithms) / logarithms.length
  const variance = sum(logarithms.map((value) => (value - mean) ** 2)) / (logarithms.length - 1)
  return Math.sqrt(variance * daysPerYear)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
