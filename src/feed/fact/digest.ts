import { hash } from 'node:crypto'
import { Decimal } from '../../domain/decimal.ts'
import type { Fact } from './fact.ts'

/** A digest of a fact's contents: the same for facts that say the same, however they are written. */
export function digestOf(fact: Fact): string {
  return digest(canonical(fact))
}

/** A digest of a line as it stands in its feed. */
export function lineDigest(bytes: Uint8Array): string {
  return digest(bytes)
}

function digest(contents: string | Uint8Array): string {
  return hash('sha256', contents, 'base64url').slice(0, 22)
}

/** JSON with keys in one order; lists keep theirs, which means something. Decimals are their shortest text. */
function canonical(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (value instanceof Decimal) return `"${value.toJSON()}"`
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  let text = ''
  for (const { key, label } of labelsOf(object)) {
    const inner = object[key]
    if (inner !== undefined) text += `${text === '' ? '' : ','}${label}${canonical(inner)}`
  }
  return `{${text}}`
}

/** Most texts are plain, and need no more than quotes. */
function quoted(text: string): string {
  return /^[\w .:-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** A key, and as it stands before its value. */
interface Label {
  readonly key: string
  readonly label: string
}

/** The labels of objects with the same keys: facts of a kind have mostly those, so that to put them in order is done once. */
const labels = new Map<string, readonly Label[]>()
const mostLabels = 1_000

function labelsOf(object: Record<string, unknown>): readonly Label[] {
  const keys = Object.keys(object)
  const name = keys.join('\0')
  const known = labels.get(name)
  if (known !== undefined) return known
  const made = sorted(keys).map((key) => ({ key, label: `${quoted(key)}:` }))
  if (labels.size >= mostLabels) labels.clear()
  labels.set(name, made)
  return made
}

/** In the order of their text, but that a whole number comes before other keys: the digests that are stored are so. */
function sorted(keys: readonly string[]): string[] {
  const inOrder = keys.toSorted()
  const isNumbered = inOrder.some((key) => /^\d/.test(key))
  return isNumbered ? Object.keys(Object.fromEntries(inOrder.map((key) => [key, null]))) : inOrder
}
