/*
 * Exact fractions, written apart from the project's own decimals so that neither can hide a fault of the other. No fraction
 * is reduced: their numbers are small enough for a test.
 */

export interface Rational {
  readonly n: bigint
  /** Greater than 0. */
  readonly d: bigint
}

export const nothing: Rational = { n: 0n, d: 1n }

/** Reads a decimal without exponent. */
export function rational(text: string): Rational {
  const [whole = '', fraction = ''] = text.split('.')
  return { n: BigInt(whole + fraction), d: 10n ** BigInt(fraction.length) }
}

export const plus = (a: Rational, b: Rational): Rational => ({ n: a.n * b.d + b.n * a.d, d: a.d * b.d })
export const minus = (a: Rational, b: Rational): Rational => ({ n: a.n * b.d - b.n * a.d, d: a.d * b.d })
export const times = (a: Rational, b: Rational): Rational => ({ n: a.n * b.n, d: a.d * b.d })

/** @param b greater than 0 */
export const over = (a: Rational, b: Rational): Rational => ({ n: a.n * b.d, d: a.d * b.n })

/** Returns a number below, at or above 0, as one is less than, equal to or greater than the other. */
export function compared(a: Rational, b: Rational): number {
  const difference = a.n * b.d - b.n * a.d
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Rounds half-even to a number of decimals. */
export function rounded({ n, d }: Rational, decimals: number): Rational {
  const scale = 10n ** BigInt(decimals)
  const [size, doubled] = [n < 0n ? -n : n, 2n * d]
  const twice = 2n * size * scale
  let units = (twice + d) / doubled
  if ((twice + d) % doubled === 0n && units % 2n === 1n) units--
  return { n: n < 0n ? -units : units, d: scale }
}

/** Returns the text of a fraction with at most this number of decimals, without trailing zeros. */
export function textOf(value: Rational, decimals = 60): string {
  const { n } = rounded(value, decimals)
  if (compared({ n, d: 10n ** BigInt(decimals) }, value) !== 0) throw new Error('has more decimals')
  const digits = (n < 0n ? -n : n).toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  const text = digits.slice(0, -decimals) + (fraction === '' ? '' : `.${fraction}`)
  return n < 0n ? `-${text}` : text
}

/** Returns the canonical text of a decimal, without redundant zeros and exponent. */
export function plainText(text: string): string {
  const [mantissa = '', exponent = '0'] = text.split(/e/i)
  const value = rational(mantissa)
  const power = 10n ** BigInt(Math.abs(Number(exponent)))
  return textOf(Number(exponent) < 0 ? over(value, { n: power, d: 1n }) : times(value, { n: power, d: 1n }), 80)
}

/** Returns the nearest float of a fraction, by its first 30 digits. */
export function floatOf({ n, d }: Rational): number {
  const digits = 30 + d.toString().length
  return Number(`${((n * 10n ** BigInt(digits)) / d).toString()}e-${digits}`)
}

export const exceeds = ({ n, d }: Rational, digits: number): boolean => (n < 0n ? -n : n) >= d * 10n ** BigInt(digits)
