import { decimalText, divideHalfEven, powerOfTen, zerosAtEnd } from './integers/integers.ts'

/** A decimal, or the text or number of one. */
export type DecimalSource = Decimal | string | number | bigint

/** Significant digits of a quotient if the number of decimals is not specified. */
const quotientDigits = 160

/** Maximum exponent of a text: the memory of a number is proportional to its digits. */
export const maxExponent = 1_000

const textPattern = /^-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/

/**
 * An exact decimal, as an integer with a scale. Sums, differences and products are never rounded, quotients half-even.
 * BigInt is many times as fast as arrays of digits, and the form is canonical: equal numbers are deeply equal.
 */
export class Decimal {
  /** The value times 10 to the power of the scale. */
  readonly units: bigint
  /** Number of decimals, without trailing zeros. */
  readonly scale: number
  /** Cached text: the same amount is hashed, stored and compared. */
  #text: string | undefined

  /**
   * @param value the value; with a scale, the value times 10 to the power of that
   * @throws {RangeError} when a text is not a decimal, or its exponent exceeds 1,000
   */
  constructor(value: DecimalSource, scale = 0) {
    const { units, scale: given } = typeof value === 'bigint' ? { units: value, scale } : read(value)
    const zeros = given > 0 ? zerosAtEnd(units, given) : given
    this.units = zeros === 0 ? units : zeros > 0 ? units / powerOfTen(zeros) : units * powerOfTen(-zeros)
    this.scale = given - zeros
  }

  /** Returns the greater of two. */
  static max(one: Decimal, other: Decimal): Decimal {
    return one.lessThan(other) ? other : one
  }

  plus(other: DecimalSource): Decimal {
    const added = toDecimal(other)
    const scale = Math.max(this.scale, added.scale)
    return new Decimal(unitsAt(this, scale) + unitsAt(added, scale), scale)
  }

  minus(other: DecimalSource): Decimal {
    const taken = toDecimal(other)
    const scale = Math.max(this.scale, taken.scale)
    return new Decimal(unitsAt(this, scale) - unitsAt(taken, scale), scale)
  }

  times(other: DecimalSource): Decimal {
    const factor = toDecimal(other)
    return new Decimal(this.units * factor.units, this.scale + factor.scale)
  }

  /**
   * Divides, and rounds once, half-even: to the number of decimals, or to 160 significant digits.
   * @throws {RangeError} when the divisor is 0
   */
  div(other: DecimalSource, decimals?: number): Decimal {
    const divisor = toDecimal(other)
    const scale = decimals ?? quotientDigits - digitsBeforePoint(this) + digitsBeforePoint(divisor)
    const shift = scale - this.scale + divisor.scale
    const quotient =
      shift >= 0
        ? divideHalfEven(this.units * powerOfTen(shift), divisor.units)
        : divideHalfEven(this.units, divisor.units * powerOfTen(-shift))
    return new Decimal(quotient, scale)
  }

  /** @param exponent an integer */
  pow(exponent: number): Decimal {
    if (exponent < 0) return one.div(this.pow(-exponent))
    return new Decimal(this.units ** BigInt(exponent), this.scale * exponent)
  }

  abs(): Decimal {
    return this.units < 0n ? new Decimal(-this.units, this.scale) : this
  }

  /** Rounds half-even to a number of decimals. */
  toDecimalPlaces(decimals: number): Decimal {
    if (this.scale <= decimals) return this
    return new Decimal(divideHalfEven(this.units, powerOfTen(this.scale - decimals)), decimals)
  }

  /** Returns the number of decimals, without trailing zeros. */
  decimalPlaces(): number {
    return this.scale
  }

  isZero(): boolean {
    return this.units === 0n
  }

  /** Returns whether there are more digits than this before the point. */
  exceeds(digits: number): boolean {
    const limit = powerOfTen(digits + this.scale)
    return this.units < 0n ? -this.units >= limit : this.units >= limit
  }

  /** Returns -1, 0 or 1 if it is less than, equal to or greater than another. */
  comparedTo(other: DecimalSource): number {
    const compared = toDecimal(other)
    const scale = Math.max(this.scale, compared.scale)
    const [one, another] = [unitsAt(this, scale), unitsAt(compared, scale)]
    return one < another ? -1 : one > another ? 1 : 0
  }

  equals(other: DecimalSource): boolean {
    const compared = toDecimal(other)
    return this.scale === compared.scale && this.units === compared.units
  }

  lessThan(other: DecimalSource): boolean {
    return this.comparedTo(other) < 0
  }

  lessThanOrEqualTo(other: DecimalSource): boolean {
    return this.comparedTo(other) <= 0
  }

  greaterThan(other: DecimalSource): boolean {
    return this.comparedTo(other) > 0
  }

  /** Returns the value times 10 to the power of `decimals`, rounded half-even. */
  unitsAt(decimals: number): bigint {
    return decimals < this.scale ? this.toDecimalPlaces(decimals).unitsAt(decimals) : unitsAt(this, decimals)
  }

  /** Returns the nearest float. */
  toNumber(): number {
    return Number(this.toFixed())
  }

  /**
   * Returns the text without an exponent.
   * @param decimals number of decimals to round or pad to; by default the number's own
   */
  toFixed(decimals = this.scale): string {
    if (decimals < this.scale) return this.toDecimalPlaces(decimals).toFixed(decimals)
    const text = (this.#text ??= decimalText(this.units, this.scale))
    if (decimals === this.scale) return text
    return `${text}${this.scale === 0 ? '.' : ''}${'0'.repeat(decimals - this.scale)}`
  }

  toString(): string {
    return this.toFixed()
  }

  toJSON(): string {
    return this.toFixed()
  }
}

function toDecimal(value: DecimalSource): Decimal {
  return value instanceof Decimal ? value : new Decimal(value)
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return scale === wanted ? units : units * powerOfTen(wanted - scale)
}

/** Returns the position of the first digit: 1 for 1 to 9, 0 for 0.1, and so on. */
function digitsBeforePoint({ units, scale }: Decimal): number {
  return (units < 0n ? -units : units).toString().length - scale
}

/** Parses units and scale. */
function read(value: Exclude<DecimalSource, bigint>): Pick<Decimal, 'units' | 'scale'> {
  if (value instanceof Decimal) return value
  const text = typeof value === 'number' ? String(value) : value
  if (!textPattern.test(text)) throw new RangeError(`${text.slice(0, 80)} is not a decimal`)
  const [mantissa = '', exponentText = '0'] = text.split(/e/i)
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > maxExponent)
    throw new RangeError(`${text.slice(0, 80)} has an exponent beyond ${maxExponent}`)
  const point = mantissa.indexOf('.')
  if (point === -1) return { units: BigInt(mantissa), scale: -exponent }
  const units = BigInt(mantissa.slice(0, point) + mantissa.slice(point + 1))
  return { units, scale: mantissa.length - point - 1 - exponent }
}

export const zero: Decimal = new Decimal(0n)
export const one: Decimal = new Decimal(1n)

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
 * Divides, and rounds to 40 decimals, half-even. The computation continues with exactly the stored value, so results do not
 * depend on how facts are batched.
 */
export function divideFine(dividend: Decimal, divisor: Decimal): Decimal {
  return dividend.div(divisor, fineScale)
}
