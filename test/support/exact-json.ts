import { parse } from 'lossless-json'
import { Decimal } from '../../src/domain/decimal.ts'

/** Parses JSON with numbers as decimals, without rounding to floating point. */
export function exactJson(text: string): unknown {
  return parse(text, undefined, { parseNumber: (digits) => new Decimal(digits) })
}
