import { parse } from 'lossless-json'
import { Decimal } from '../../src/domain/decimal.ts'

/** JSON text, each of whose numbers is read by its digits and never as a float. */
export function exactJson(text: string): unknown {
  return parse(text, undefined, { parseNumber: (digits) => new Decimal(digits) })
}
