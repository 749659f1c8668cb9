const [minute, day] = [60, 86_400]
const fewestDaysOfMonth = 28

const formatOf = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options)
const month = formatOf({ month: 'short' })
const dayOfMonth = formatOf({ month: 'short', day: 'numeric' })
const year = formatOf({ year: 'numeric' })
const date = formatOf({ dateStyle: 'medium' })
const clock = formatOf({ timeStyle: 'short' })
const exactClock = formatOf({ timeStyle: 'medium' })

/**
 * Labels times on an axis: dates, with the year below the first date of each year, or clock times, with the date below
 * the first time of each day.
 * @param times in Unix seconds
 * @param step between two times, in seconds
 */
export function timeLabels(times: readonly number[], step: number): string[] {
  const isDated = step >= day
  const short = isDated ? (step >= fewestDaysOfMonth * day ? month : dayOfMonth) : step >= minute ? clock : exactClock
  const rest = isDated ? year : date
  const rests = times.map((time) => rest.format(time * 1000))
  return times.map((time, index) => {
    const label = short.format(time * 1000)
    return rests[index] === rests[index - 1] ? label : `${label}\n${rests[index] ?? ''}`
  })
}

/** Maximum number of decimals of an amount on an axis. */
const maxDigits = 12

/**
 * Labels amounts on an axis, in thousands, millions or more, with all digits: a step of the axis has two at most, as 2.5 has.
 * @param step between two amounts
 * @param locale that of the browser unless given: some count in ten thousands, or in lakhs
 */
export function usdLabels(amounts: readonly number[], step: number, locale?: string): string[] {
  const greatest = Math.max(...amounts.map(Math.abs), step)
  // No unit is greater than the amount; zeros at the end are not shown.
  const digits = Math.max(0, magnitudeOf(greatest)) - magnitudeOf(step) + 1
  const maximumFractionDigits = Math.min(maxDigits, Math.max(0, digits))
  const options = { style: 'currency', currency: 'USD', notation: 'compact', maximumFractionDigits } as const
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: 0, ...options })
  return amounts.map((amount) => format.format(amount))
}

/** Returns the power of ten of a number's first digit. */
function magnitudeOf(number: number): number {
  return Math.floor(Math.log10(number) + 1e-9)
}
