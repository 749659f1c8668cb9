/**
 * Parses JSON in the form of nearly all lines: without escapes, and only safe integers as numbers. JSON.parse is much faster
 * than a parser that retains numbers as text, but it rounds numbers, and silently drops the first of two equal keys. A pass
 * over the text therefore looks for such numbers and counts the keys.
 * @param text a line
 * @returns undefined for any other text, valid or not, and where a key occurs twice in an object or may be `__proto__`
 */
export function parsePlainJson(text: string): unknown {
  const keys = countPlainKeys(text)
  // Parsers that assign keys one by one lose this key before it is validated.
  if (keys === null || text.includes('__proto__')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return countKeys(value) === keys ? value : undefined
  } catch {
    return undefined
  }
}

const [quote, colon, backslash, point, zero, nine] = [0x22, 0x3a, 0x5c, 0x2e, 0x30, 0x39]
const [upperE, lowerE] = [0x45, 0x65]
/** Digits of a number that may be too large for a float to represent exactly. */
const unsafeDigits = 16

/**
 * Counts the keys of a JSON text, by its colons outside of strings.
 * @returns null where the text is not plain: escapes, fractions, exponents, long integers, or white space before a colon
 */
function countPlainKeys(text: string): number | null {
  let keys = 0
  let digits = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) return null
    if (code === quote) isInString = !isInString
    if (isInString) continue
    if (code >= zero && code <= nine) {
      if (++digits === unsafeDigits) return null
      continue
    }
    if (digits > 0 && (code === point || code === lowerE || code === upperE)) return null
    digits = 0
    if (code !== colon) continue
    if (text.charCodeAt(at - 1) !== quote) return null
    keys++
  }
  return keys
}

/** Counts the keys of a value and of all values in it. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value as unknown[]) count += countKeys(item)
  else for (const key in value) count += 1 + countKeys((value as Readonly<Record<string, unknown>>)[key])
  return count
}
