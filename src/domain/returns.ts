import { Decimal, one, roundFine } from './decimal.ts'

const secondsPerDay = 86_400
const windowDays = 30
const daysPerYear = 365

/** Figures are served as floats: 40 digits are plenty, and logarithms of more are slow. */
const Figure = Decimal.clone({ precision: 40 })

/** A vault's growth over one UTC day, (midnight, midnight]. */
export interface VaultDay {
  /** Days since 1970-01-01. */
  readonly day: number
  readonly startUsd: Decimal
  readonly growth: Decimal
}

/** What the vaults of a strategy that had value at a day's start were worth then, and what that grew to, net of flows. */
export interface StrategyDay {
  readonly day: number
  readonly startUsd: Decimal
  readonly grownUsd: Decimal
}

/** Realised figures, annualised fractions; null until 30 complete days have a return, and where no float holds them. */
export interface RealisedFigures {
  readonly liveApr: number | null
  readonly sigma: number | null
}

/** The day a time falls in. Midnight belongs to the day it ends. */
export function dayOf(tsSeconds: number): number {
  return Math.floor((tsSeconds - 1) / secondsPerDay)
}

/** The newest day that is complete at a time. */
export function newestCompleteDay(tsSeconds: number): number {
  return Math.floor(tsSeconds / secondsPerDay) - 1
}

/** The first day of the window that ends with the given one. */
export function windowStart(lastDay: number): number {
  return lastDay - windowDays + 1
}

/** The vault's day at a time: the one it was in, or a new one that starts with the value carried. */
export function enterDay(current: VaultDay | null, tsSeconds: number, carriedUsd: Decimal): VaultDay {
  const day = dayOf(tsSeconds)
  return current?.day === day ? current : { day, startUsd: carriedUsd, growth: one }
}

/** Multiplies the day's growth by found / carried, where a value was carried. */
export function grow(day: VaultDay, carriedUsd: Decimal, foundUsd: Decimal): VaultDay {
  if (carriedUsd.isZero()) return day
  return { ...day, growth: roundFine(day.growth.times(foundUsd).div(carriedUsd)) }
}

/** The mean of the vaults' growth - 1, weighted by their value at the day's start; null where none had any. */
export function strategyReturn(day: StrategyDay): Decimal | null {
  return day.startUsd.isZero() ? null : day.grownUsd.minus(day.startUsd).div(day.startUsd)
}

/**
 * liveApr and sigma over the 30 complete days that end with `lastDay`.
 * sigma is null too where a day lost everything, which has no logarithm.
 */
export function realisedFigures(days: readonly StrategyDay[], lastDay: number): RealisedFigures {
  const first = windowStart(lastDay)
  const growths = days
    .filter(({ day }) => day >= first && day <= lastDay)
    .map(strategyReturn)
    .filter((value) => value !== null)
    .map((value) => new Figure(value).plus(1))
  if (growths.length < windowDays) return { liveApr: null, sigma: null }
  const growth = growths.reduce((product, value) => product.times(value))
  const liveApr = growth.minus(1).times(daysPerYear).div(windowDays).toNumber()
  if (!Number.isFinite(liveApr)) return { liveApr: null, sigma: null }
  if (growths.some((value) => value.isZero())) return { liveApr, sigma: null }
  const deviation = sampleDeviation(growths.map((value) => value.ln()))
  const sigma = deviation.times(new Figure(daysPerYear).sqrt())
  // Below the last digits of the logarithms there is only their rounding: constant returns have no deviation.
  return { liveApr, sigma: sigma.toDecimalPlaces(30).toNumber() }
}

function sampleDeviation(values: readonly Decimal[]): Decimal {
  const mean = sum(values).div(values.length)
  const squares = values.map((value) => value.minus(mean).pow(2))
  return sum(squares)
    .div(values.length - 1)
    .sqrt()
}

function sum(values: readonly Decimal[]): Decimal {
  return values.reduce((total, value) => total.plus(value))
}
