import { z } from 'zod'
import { Decimal } from '../../domain/decimal.ts'
import { formatValue } from './format-value.ts'

/** A JSON number that isn't a safe integer, as it was written: no float ever stands for it. */
export class NumberText {
  constructor(readonly text: string) {}
}

/** Reads the text of a JSON number: an integer a float holds exactly, or else the text itself. */
export function readNumber(text: string): number | NumberText {
  const value = Number(text)
  return /^-?\d+$/.test(text) && Number.isSafeInteger(value) ? value : new NumberText(text)
}

export interface DecimalBounds {
  readonly integerDigits: number
  readonly decimals: number
}

/** A decimal that is 0 or more: a string of digits, or a JSON number, read through its own text. */
export function decimal(bounds: DecimalBounds): z.ZodType<Decimal> {
  const { integerDigits, decimals } = bounds
  const plain = new RegExp(`^(?:0|[1-9]\\d{0,${integerDigits - 1}})(?:\\.\\d{1,${decimals}})?$`)
  return z.unknown().transform((value, context) => {
    // Nearly all are such: what is left to see to is seldom.
    if (typeof value === 'string' && plain.test(value)) return plainDecimal(value)
    const result = readDecimal(value, bounds)
    if (typeof result !== 'string') return result
    context.addIssue({ code: 'custom', message: result })
    return z.NEVER
  })
}

const mostKept = 4_096
const kept = new Map<string, Decimal>()

/** The bounds of a range and the prices of stable coins come again with every mark: one decimal stands for all of them. */
function plainDecimal(text: string): Decimal {
  const known = kept.get(text)
  if (known !== undefined) return known
  if (kept.size === mostKept) kept.clear()
  const made = new Decimal(text)
  kept.set(text, made)
  return made
}

/** The decimal, or what is wrong with it. */
function readDecimal(value: unknown, { integerDigits, decimals }: DecimalBounds): Decimal | string {
  if (value === undefined) return 'is missing'
  const text = decimalText(value)
  if (text === null) return `is ${formatValue(value)}, not a decimal such as "1234.5"`
  if (text.startsWith('-')) return `is ${text}, less than 0`
  // Past this length an exponent could make a number of any size.
  if (text.length > 120) return 'has more than 120 characters'
  const number = new Decimal(text)
  const vanished = number.isZero() && /[1-9]/.test(mantissa(text))
  if (vanished || number.decimalPlaces() > decimals || fractionDigits(text) > decimals) {
    return `is ${text}, which has more than ${decimals} decimals`
  }
  if (!number.isFinite() || number.e >= integerDigits)
    return `is ${text}, which has more than ${integerDigits} digits before the point`
  return number
}

function decimalText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  if (value instanceof NumberText) return value.text
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? value : null
}

function mantissa(text: string): string {
  return text.split(/e/i, 1)[0] ?? ''
}

function fractionDigits(text: string): number {
  return /^\d+\.(\d+)$/.exec(text)?.[1]?.length ?? 0
}
