import { z } from 'zod'
import { Decimal, maxExponent } from '../../domain/decimal.ts'
import { formatValue } from './format-value.ts'
import { NumberText } from './number-text.ts'

/** Maximum digits before and after the decimal point. */
export interface DecimalBounds {
  readonly integerDigits: number
  readonly decimals: number
}

/** Creates a schema for a non-negative decimal, written as a string or as a JSON number. */
export function decimal(bounds: DecimalBounds): z.ZodType<Decimal> {
  const readPlain = plainDecimal(bounds)
  return z.unknown().transform((value, context) => {
    const result = readPlain(value) ?? readDecimal(value, bounds)
    if (typeof result !== 'string') return result
    context.addIssue({ code: 'custom', message: result })
    return z.NEVER
  })
}

/** Returns a parser of decimals in their usual form, which nearly all have; it returns null for any other value, valid or not. */
export function plainDecimal({ integerDigits, decimals }: DecimalBounds): (value: unknown) => Decimal | null {
  const plain = new RegExp(`^(?:0|[1-9]\\d{0,${integerDigits - 1}})(?:\\.\\d{1,${decimals}})?$`)
  return (value) => (typeof value === 'string' && plain.test(value) ? cachedDecimal(value) : null)
}

const maxCached = 4_096
const cache = new Map<string, Decimal>()

/** Returns a cached decimal: range bounds and prices of stablecoins repeat with every mark. */
function cachedDecimal(text: string): Decimal {
  const cached = cache.get(text)
  if (cached !== undefined) return cached
  if (cache.size === maxCached) cache.clear()
  const created = new Decimal(text)
  cache.set(text, created)
  return created
}

/** A number below 0. JSON has a negative zero, which equals 0. */
const negative = /^-[0.]*[1-9]/

/**
 * Parses a decimal.
 * @returns the decimal, or the problem with it
 */
function readDecimal(value: unknown, { integerDigits, decimals }: DecimalBounds): Decimal | string {
  if (value === undefined) return 'is missing'
  const text = decimalText(value)
  if (text === null) return `is ${formatValue(value)}, not a decimal such as "1234.5"`
  // Limits the length before parsing, because an exponent could denote a number of any size, and that of the messages below.
  if (text.length > 120) return 'has more than 120 characters'
  if (negative.test(text)) return `is ${text}, less than 0`
  const [mantissa = '', exponent = '0'] = text.split(/e/i)
  const number = new Decimal(isShort(exponent) ? text : mantissa)
  const isOver = !isShort(exponent) && !number.isZero()
  if ((isOver && Number(exponent) < 0) || number.decimalPlaces() > decimals || fractionDigits(text) > decimals) {
    return `is ${text}, which has more than ${decimals} decimals`
  }
  if (isOver || number.exceeds(integerDigits))
    return `is ${text}, which has more than ${integerDigits} digits before the point`
  return number
}

function decimalText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  if (value instanceof NumberText) return value.text
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? value : null
}

/** Returns whether a decimal can have this exponent. */
function isShort(exponent: string): boolean {
  return Math.abs(Number(exponent)) <= maxExponent
}

function fractionDigits(text: string): number {
  return /^-?\d+\.(\d+)$/.exec(text)?.[1]?.length ?? 0
}
