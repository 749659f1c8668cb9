import { Decimal as BigDecimal } from 'decimal.js'
import { type Decimal, divideFine, one, zero } from './decimal.ts'

/** Length of a UTC day. */
export const secondsPerDay = 86_400
const windowDays = 30
const daysPerYear = 365

/**
 * Precision for annualised values: they are served as floats, so 40 digits suffice, and logarithms of 160 digits are
 * slow.
 */
const Figure = BigDecimal.clone({ precision: 40, rounding: BigDecimal.ROUND_HALF_EVEN })
type Figure = BigDecimal

/** A vault's growth factor over one UTC day, the interval (midnight, midnight]. */
export interface VaultDay {
  /** Days since 1970-01-01. */
  readonly day: number
  readonly startUsd: Decimal
  readonly growth: Decimal
}

/** Total value of a strategy's vaults at the start of a day, and the value that it grew to, without flows. */
export interface StrategyDay {
  readonly day: number
  readonly startUsd: Decimal
  readonly grownUsd: Decimal
}

/** Changes of a strategy's vaults over one UTC day, summed over the vaults that were valued on it. */
export interface StrategyChange {
  readonly day: number
  /** Value at the end of the day minus value at its start. */
  readonly changeUsd: Decimal
  /** Value at the start times growth minus 1. */
  readonly gainUsd: Decimal
}

/**
 * Realised APR and volatility as annualised fractions; null until 30 complete days have a return, and if no finite
 * float represents liveApr: the read model holds both or neither, unless a day lost everything.
 */
export interface RealisedFigures {
  readonly liveApr: number | null
  readonly sigma: number | null
}

/** Returns the UTC day that contains a time, in days since 1970-01-01. Midnight belongs to the day that it ends. */
export function dayOf(tsSeconds: number): number {
  return Math.floor((tsSeconds - 1) / secondsPerDay)
}

/** Returns the newest day that is complete at a time, in days since 1970-01-01. */
export function newestCompleteDay(tsSeconds: number): number {
  return Math.floor(tsSeconds / secondsPerDay) - 1
}

/** Returns the first day of the 30-day window that ends with `lastDay`. */
export function windowStart(lastDay: number): number {
  return lastDay - windowDays + 1
}

/**
 * Returns the day record of a vault at a time: the current one, or a new one that starts with the last known value.
 * @param current the vault's latest day; null before its first valuation
 * @param carriedUsd last known value of the vault
 */
export function dayAt(current: VaultDay | null, tsSeconds: number, carriedUsd: Decimal): VaultDay {
  const day = dayOf(tsSeconds)
  return current?.day === day ? current : { day, startUsd: carriedUsd, growth: one }
}

/**
 * Multiplies the day's growth by foundUsd / carriedUsd; no effect if the last known value is 0.
 * @param carriedUsd value before the valuation
 * @param foundUsd value by the valuation
 * @returns a new day record, growth rounded to 40 decimals
 */
export function applyGrowth(day: VaultDay, carriedUsd: Decimal, foundUsd: Decimal): VaultDay {
  if (carriedUsd.isZero() || carriedUsd.equals(foundUsd)) return day
  return { day: day.day, startUsd: day.startUsd, growth: divideFine(day.growth.times(foundUsd), carriedUsd) }
}

/**
 * Returns the 30 days of a strategy that end with `lastDay`. The value at the start of a day is the sum of all earlier
 * changes: a vault starts its first day with 0, and each later day with the value at the end of the day before.
 * @param changes in any order, possibly several per day; those before the window may be combined on any earlier day
 */
export function strategyDays(changes: readonly StrategyChange[], lastDay: number): StrategyDay[] {
  const first = windowStart(lastDay)
  const total = (key: 'changeUsd' | 'gainUsd', isOf: (day: number) => boolean): Decimal =>
    changes.reduce((usd, change) => (isOf(change.day) ? usd.plus(change[key]) : usd), zero)
  let startUsd = total('changeUsd', (day) => day < first)
  return Array.from({ length: windowDays }, (_, index) => {
    const isDay = (day: number): boolean => day === first + index
    const found = { day: first + index, startUsd, grownUsd: startUsd.plus(total('gainUsd', isDay)) }
    startUsd = startUsd.plus(total('changeUsd', isDay))
    return found
  })
}

/**
 * Returns the mean of the vaults' growth - 1, weighted by their value at the start of the day.
 * @returns a fraction; null if no vault had value
 */
export function strategyReturn(day: StrategyDay): Decimal | null {
  return day.startUsd.isZero() ? null : day.grownUsd.minus(day.startUsd).div(day.startUsd)
}

/**
 * Computes liveApr and sigma over the 30 complete days that end with `lastDay`: the compounded return of the window
 * times 365 / 30, and the sample standard deviation of daily log returns times the square root of 365.
 * @param days records of at least the window; others are ignored
 * @returns sigma is also null if a day lost everything, because ln 0 does not exist
 */
export function realisedFigures(days: readonly StrategyDay[], lastDay: number): RealisedFigures {
  const first = windowStart(lastDay)
  const growths = days
    .filter(({ day }) => day >= first && day <= lastDay)
    .map(strategyReturn)
    .filter((value) => value !== null)
    .map((value) => new Figure(value.toFixed()).plus(1))
  if (growths.length < windowDays) return { liveApr: null, sigma: null }
  const growth = growths.reduce((product, value) => product.times(value))
  const liveApr = growth.minus(1).times(daysPerYear).div(windowDays).toNumber()
  if (!Number.isFinite(liveApr)) return { liveApr: null, sigma: null }
  if (growths.some((value) => value.isZero())) return { liveApr, sigma: null }
  const deviation = sampleDeviation(growths.map((value) => value.ln()))
  const sigma = deviation.times(new Figure(daysPerYear).sqrt())
  // Digits beyond 30 are rounding errors of the logarithms: constant returns must have a deviation of exactly 0.
  return { liveApr, sigma: sigma.toDecimalPlaces(30).toNumber() }
}

function sampleDeviation(values: readonly Figure[]): Figure {
  const mean = sum(values).div(values.length)
  const squares = values.map((value) => value.minus(mean).pow(2))
  return sum(squares)
    .div(values.length - 1)
    .sqrt()
}

function sum(values: readonly Figure[]): Figure {
  return values.reduce((total, value) => total.plus(value))
}
