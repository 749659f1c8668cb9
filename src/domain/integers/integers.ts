const powers: bigint[] = []

/** Returns 10 to the power of a non-negative integer. */
export function powerOfTen(exponent: number): bigint {
  return (powers[exponent] ??= 10n ** BigInt(exponent))
}

/** Returns the number of trailing zeros, at most the number of decimals. */
export function zerosAtEnd(units: bigint, decimals: number): number {
  if (units === 0n) return decimals
  let zeros = 0
  let rest = units
  for (; decimals - zeros >= 8 && rest % 100_000_000n === 0n; zeros += 8) rest /= 100_000_000n
  for (; decimals > zeros && rest % 10n === 0n; zeros++) rest /= 10n
  return zeros
}

/**
 * Divides integers, and rounds half-even.
 * @throws {RangeError} when the divisor is 0
 */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  const rest = dividend - quotient * divisor
  if (rest === 0n) return quotient
  const [twice, size] = [rest < 0n ? -2n * rest : 2n * rest, divisor < 0n ? -divisor : divisor]
  if (twice < size || (twice === size && quotient % 2n === 0n)) return quotient
  return rest < 0n === divisor < 0n ? quotient + 1n : quotient - 1n
}

/** Formats an integer, in units of the last decimal, as the text of a decimal. */
export function decimalText(units: bigint, decimals: number): string {
  const isNegative = units < 0n
  const digits = (isNegative ? -units : units).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  const whole = isNegative ? `-${digits.slice(0, point)}` : digits.slice(0, point)
  return decimals === 0 ? whole : `${whole}.${digits.slice(point)}`
}
