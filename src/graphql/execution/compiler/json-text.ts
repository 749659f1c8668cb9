import type { ExecutionResult, GraphQLFormattedError } from 'graphql'

/** Data of a result as JSON text, written by a compiled operation. */
export class JsonText {
  /** @param body JSON text of the body of a REST response; null if there is none */
  constructor(
    readonly text: string,
    readonly body: string | null,
  ) {}

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** A result whose errors may already be formatted. */
type SentResult = Omit<ExecutionResult, 'errors'> & {
  readonly errors?: ExecutionResult['errors'] | readonly GraphQLFormattedError[]
}

/** Serializes a result. */
export function resultText(result: SentResult): string {
  const { data, ...others } = result
  if (!(data instanceof JsonText)) return stringify(result)
  const text = stringify(others)
  return `{"data":${data.text}${text === '{}' ? '' : `,${text.slice(1, -1)}`}}`
}

/**
 * Returns the length of the JSON text of a value without escapes and punctuation. Counting stops once the length
 * exceeds `maxLength`.
 */
export function lengthOfText(value: unknown, maxLength: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let length = 0
  for (const [key, each] of Object.entries(value)) {
    length += (Array.isArray(value) ? 0 : key.length) + lengthOfText(each, maxLength - length)
    if (length > maxLength) break
  }
  return length
}

/** Matches strings that JSON writes without escapes. */
const plain = /^[ !#-[\]-~]*$/

/** Serializes a string to JSON. */
export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Serializes the value of a leaf type. */
export function leafText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null'
    case 'boolean':
      return value ? 'true' : 'false'
    default:
      return value instanceof ExactNumber ? value.text : stringify(value)
  }
}

/** A decimal with more digits than a float can represent: its text is served as a JSON number. */
export class ExactNumber {
  constructor(readonly text: string) {}

  /**
   * Returns a string that no text of the read model equals, because PostgreSQL stores no NUL; `stringify` replaces it
   * with the number.
   */
  toJSON(): string {
    return `\0${this.text}`
  }
}

/** Maximum length of a decimal that a float always represents exactly. */
const surelyExact = 15

/** Returns the float that prints as this decimal, or the decimal itself if there is none. */
export function exactNumber(decimal: string): number | ExactNumber {
  const number = Number(decimal)
  if (decimal.length <= surelyExact) return number
  const shortest = withoutTrailingZeros(decimal)
  return String(number) === shortest ? number : new ExactNumber(shortest)
}

/** Serializes a value to JSON, with exact numbers as numbers. */
export function stringify(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes('"\\u0000') ? json.replace(/(?<!\\)"\\u0000(-?\d+(?:\.\d+)?)"/g, '$1') : json
}

/** Returns the JSON text of a decimal with at most 6 decimals, equal to that of the result of `exactNumber`. */
export function exactText(decimal: string): string {
  const text = withoutTrailingZeros(decimal)
  return text === '-0' ? '0' : text
}

function withoutTrailingZeros(decimal: string): string {
  if (!decimal.includes('.')) return decimal
  let end = decimal.length
  while (decimal.charCodeAt(end - 1) === zero) end--
  if (decimal.charCodeAt(end - 1) === point) end--
  return decimal.slice(0, end)
}

const [zero, point] = [48, 46]
