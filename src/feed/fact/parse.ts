import { parse as parseJson } from 'lossless-json'
import type { z } from 'zod'
import type { ValidationIssue } from '../errors.ts'
import { type Fact, type FactKind, factKinds, factSchema, maxNameCharacters } from './fact.ts'
import { formatValue, shortened } from './format-value.ts'
import { NumberText, readNumber } from './number-text.ts'
import { parsePlainJson } from './plain-json.ts'
import { parseUsualKeyOrder } from './usual-key-order.ts'
import { readUsualMark } from './usual-mark.ts'

/** Maximum length of a line: longer than any real screen fact, and small enough for memory. */
export const maxLineBytes = 4 * 1024 * 1024

/** Maximum length of a parser's message, which may quote a key of any length. */
const maxProblemCharacters = 300

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A validated fact, or the problem of a line with its kind where that is known. */
export type Parsed =
  | { readonly ok: true; readonly fact: Fact }
  | { readonly ok: false; readonly issue: ValidationIssue; readonly kind: FactKind | null }

/**
 * Parses and validates a line.
 * @param bytes the line without its newline
 */
export function parseFact(bytes: Uint8Array): Parsed {
  const text = decode(bytes)
  if (text === null) return bad(null, 'the line is not UTF-8')
  const plain = parseUsualKeyOrder(text) ?? parsePlainJson(text)
  if (plain !== undefined) return checkFact(plain)
  if (hasPrototypeKey(text)) return bad('__proto__', 'is not a key of this kind of fact')
  let value: unknown
  try {
    // Rejects a key that occurs twice with different values, and retains numbers as text where they are not safe integers.
    value = parseJson(text, undefined, { parseNumber: readNumber })
  } catch (error) {
    return bad(null, problemOf(error as Error))
  }
  return value instanceof NumberText ? bad(null, 'the line is not a JSON object') : checkFact(value)
}

/** Validates a fact that is a value: parsed JSON, or an object of a producer in this process. */
export function checkFact(value: unknown): Parsed {
  const usual = readUsualMark(value)
  if (usual !== null) return { ok: true, fact: usual }
  const checked = factSchema.safeParse(value, { error: describe })
  if (checked.success) return { ok: true, fact: checked.data }
  const [issue] = checked.error.issues
  const { kind } = Object(value) as { kind?: unknown }
  const known = factKinds.find((one) => one === kind) ?? null
  return issue === undefined ? bad(null, 'the line is not a fact', known) : bad(keyOf(issue), issue.message, known)
}

/** Returns why a line could not be parsed. */
function problemOf(error: Error): string {
  if (error instanceof RangeError) return 'the line has too many arrays or objects inside each other'
  return `the line is not JSON: ${shortened(error.message, maxProblemCharacters)}`
}

/** Returns whether a key is `__proto__`: parsers that assign keys one by one lose this key before it is validated. */
function hasPrototypeKey(text: string): boolean {
  if (!/__proto__|\\u/.test(text)) return false
  let has = false
  const see = (key: string, value: unknown): unknown => {
    has ||= key === '__proto__'
    return value
  }
  try {
    JSON.parse(text, see)
  } catch {
    // Invalid JSON is rejected by the caller.
  }
  return has
}

function bad(key: string | null, reason: string, kind: FactKind | null = null): Parsed {
  return { ok: false, issue: { key, reason }, kind }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}

/** Returns the path to the problem, such as `positions[0].range.lower`. */
function keyOf(issue: z.core.$ZodIssue): string | null {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path
  if (path.length === 0) return null
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${nameOf(step)}`))
    .join('')
}

/** Returns a key as far as names go: those of an unknown or invalid one may be longer. */
function nameOf(step: PropertyKey): string {
  return shortened(String(step), maxNameCharacters)
}

/** Describes a zod issue in the words of the feed's documentation. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return 'is not a key of this kind of fact'
  if (issue.code === 'invalid_union') return describeUnion(issue)
  if (issue.input === undefined) return 'is missing'
  if (issue.code === 'invalid_key') return 'is not a name of 1 to 200 characters without NUL'
  if (issue.code === 'invalid_type' && (issue.path ?? []).length === 0) return 'the line is not a JSON object'
  if (issue.code === 'invalid_type') return `is ${typeName(issue.input)}, ${typeProblem(issue.expected, issue.input)}`
  if (issue.code === 'invalid_value')
    return `is ${formatValue(issue.input)}, not ${issue.values.map(formatValue).join(' or ')}`
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? 'is empty' : `is ${formatValue(issue.input)}, less than ${issue.minimum}`
  if (issue.code === 'too_big')
    return issue.origin === 'string'
      ? `has more than ${issue.maximum} characters`
      : `is ${formatValue(issue.input)}, more than ${issue.maximum}`
  return undefined
}

function describeUnion(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  const input = issue.input as Record<string, unknown>
  const key = issue.discriminator ?? 'kind'
  return key in input
    ? `is ${formatValue(input[key])}, which is no ${key} of ${key === 'kind' ? 'fact' : 'event'}`
    : 'is missing'
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return value instanceof NumberText ? formatValue(value) : article(typeof value)
}

/** Describes why a value is not of an expected type. */
function typeProblem(expected: string, value: unknown): string {
  if (expected === 'number' || expected === 'int') return exceededLimit(value) ?? 'not a whole number'
  return `not ${article(expected === 'record' ? 'object' : expected)}`
}

/** Returns which limit of safe integers a whole number exceeds; null for any other value. */
function exceededLimit(value: unknown): string | null {
  if (!(value instanceof NumberText) || !/^-?\d+$/.test(value.text)) return null
  return value.text.startsWith('-') ? `less than ${Number.MIN_SAFE_INTEGER}` : `more than ${Number.MAX_SAFE_INTEGER}`
}

function article(noun: string): string {
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`
}
