import { createHash } from 'node:crypto'
import type { Fact } from './fact.ts'

/** A digest of a fact's contents: the same for facts that say the same, however they are written. */
export function digestOf(fact: Fact): string {
  return createHash('sha256').update(JSON.stringify(fact, sortedKeys)).digest('base64url').slice(0, 22)
}

/** Keys in one order; lists keep theirs, which means something. Decimals are their shortest text. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries)
}

/** A digest of a line as it stands in its feed. */
export function lineDigest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
}
