import { Decimal as DecimalJs } from 'decimal.js'

/**
 * Exact decimals, rounded half-even where a division needs it. 160 significant digits hold every product of an amount
 * (38 digits) and a price or quantity (80 digits) without loss, so that only `roundUsd` and `roundFine` ever round.
 * @see decimal.js, "precision" and "rounding", https://mikemcl.github.io/decimal.js/
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

/** Decimals of a USD amount, in the database and in responses. */
export const usdScale = 6

/**
 * Decimals of intermediate values that are stored between facts and may have no finite expansion: benchmark quantities
 * and growth.
 */
export const fineScale = 40

/** Maximum digits of a USD amount before the decimal point, in a feed and in the database. */
export const usdDigits = 32

/** Maximum digits of a stored intermediate value before the decimal point. */
export const fineDigits = 40

/** Rounds a USD amount to 6 decimals, half-even. */
export function roundUsd(amount: Decimal): Decimal {
  return amount.toDecimalPlaces(usdScale)
}

/**
 * Rounds an intermediate value to 40 decimals, half-even. The computation continues with exactly the stored value, so
 * results do not depend on how facts are batched.
 */
export function roundFine(amount: Decimal): Decimal {
  return amount.toDecimalPlaces(fineScale)
}
