/** Formats of amounts and fractions. Amounts are decimal strings, which `Intl` formats without loss of digits. */
const exactUsd = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})
const roundedUsd = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD' })
const signed = { signDisplay: 'exceptZero' } as const
const exactGain = new Intl.NumberFormat(undefined, { ...exactUsd.resolvedOptions(), ...signed })
const roundedGain = new Intl.NumberFormat(undefined, { ...roundedUsd.resolvedOptions(), ...signed })
const percent = new Intl.NumberFormat(undefined, {
  style: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  // No sign before a zero to which a small loss is rounded.
  signDisplay: 'negative',
})
const digits = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 })
const count = new Intl.NumberFormat()

/** Format of an amount: a gain has a sign; a rounded amount ends with cents, an exact one has all digits. */
export interface UsdFormat {
  readonly isGain?: boolean
  readonly isRounded?: boolean
}

/** Formats an amount in USD. */
export function formatUsd(amount: string, { isGain = false, isRounded = false }: UsdFormat = {}): string {
  const format = isRounded ? (isGain ? roundedGain : roundedUsd) : isGain ? exactGain : exactUsd
  return format.format(amount as `${number}`)
}

/** Formats a price with all digits. */
export function formatPrice(price: string): string {
  return digits.format(price as `${number}`)
}

/** Formats a fraction as a percentage. */
export function formatFraction(fraction: number): string {
  return percent.format(fraction)
}

export function formatCount(number: number): string {
  return count.format(number)
}

/** Formats a pool's fee, given in hundredths of a basis point. */
export function formatFeeTier(feeTier: number): string {
  return `${digits.format(feeTier / 10_000)} %`
}

/** Converts the name of an enum value to words. */
export function words(name: string): string {
  return name.toLowerCase().replaceAll('_', ' ')
}
