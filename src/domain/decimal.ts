import { Decimal as DecimalJs } from 'decimal.js'

/**
 * Exact decimals, half-even where a division has to be rounded. 160 significant digits hold every product of an
 * amount (38) and a price or quantity (80) whole, so that only `roundUsd` and `roundFine` ever round.
 */
export const Decimal = DecimalJs.clone({
  precision: 160,
  rounding: DecimalJs.ROUND_HALF_EVEN,
  toExpNeg: -400,
  toExpPos: 400,
})
export type Decimal = DecimalJs

export const zero: Decimal = new Decimal(0)
export const one: Decimal = new Decimal(1)

/** Decimals of a USD amount, in the database and on the wire. */
export const usdScale = 6

/** Decimals of what is carried from one fact to the next and may not end: benchmark quantities and growth. */
export const fineScale = 40

/** Digits that a USD amount can have before the point, in a feed and in the database. */
export const usdDigits = 32

/** Digits that what is carried can have before the point. */
export const fineDigits = 40

/** Rounds to the micro-dollar, half-even. */
export function roundUsd(amount: Decimal): Decimal {
  return amount.toDecimalPlaces(usdScale)
}

/** Rounds to 40 decimals, half-even: what is carried is what is stored, however facts are batched. */
export function roundFine(amount: Decimal): Decimal {
  return amount.toDecimalPlaces(fineScale)
}
