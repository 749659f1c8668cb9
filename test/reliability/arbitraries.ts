import fc from 'fast-check'

/** Generates valid values, and an invalid one in seven. */
export function mostlyValid<Value>(valid: fc.Arbitrary<Value>, invalid: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 6, arbitrary: valid }, { weight: 1, arbitrary: invalid })
}

const hexDigits = (count: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: count, maxLength: count })

/** Generates arbitrary strings, with frequent causes of errors among them. */
export const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('', ' ', '0', 'null', 'undefined', 'NaN', '[]', '{}', '%', '%00', '../../etc/passwd', '__proto__'),
  fc.constantFrom("' or 1=1 --", '"; drop table vault', '<script>', '${7*7}', '\ud800', '\u0000', 'é', '🦔'),
)

/** Generates the addresses of known vaults in different cases, and other or invalid addresses. */
export function vaultAddresses(knownVaults: readonly string[]): fc.Arbitrary<string> {
  const valid = fc
    .tuple(fc.constantFrom(...knownVaults), fc.integer({ min: 0, max: 2 }))
    .map(([address, form]) => [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`][form] ?? '')
  return mostlyValid(
    valid,
    fc.oneof(
      hexDigits(40).map((digits) => `0x${digits}`),
      hexDigits(39),
      anyText,
    ),
  )
}

/** Generates the given numbers, and those one below and above. */
const aroundBoundaries = (...numbers: readonly number[]): fc.Arbitrary<number> =>
  fc.tuple(fc.constantFrom(...numbers), fc.integer({ min: -1, max: 1 })).map(([at, off]) => at + off)

/** Generates integers as text, and invalid texts. */
export const integerTexts: fc.Arbitrary<string> = mostlyValid(
  fc.oneof(fc.integer({ min: 1, max: 12 }), aroundBoundaries(0, 2, 200, 1_000, 2_000)).map(String),
  fc.oneof(fc.maxSafeInteger().map(String), fc.double().map(String), fc.bigInt().map(String), anyText),
)

/** Generates unix seconds around the times of the facts as text, and invalid texts. */
export const timestampTexts: fc.Arbitrary<string> = mostlyValid(
  fc.oneof(fc.integer({ min: 1_690_000_000, max: 1_710_000_000 }), aroundBoundaries(0, 253_402_300_799)).map(String),
  integerTexts,
)
