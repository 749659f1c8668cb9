import type { ExecutionResult } from 'graphql'
import { ExactNumber, stringify } from './exact-number.ts'

/** A value whose JSON text is written already. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** JSON text of a result. */
export function resultText(result: ExecutionResult): string {
  const { data, ...others } = result
  if (!(data instanceof JsonText)) return stringify(result)
  const text = stringify(others)
  return `{"data":${data.text}${text === '{}' ? '' : `,${text.slice(1, -1)}`}}`
}

/** What JSON needs no escapes for. */
const plain = /^[ !#-[\]-~]*$/

export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** JSON text of what a leaf is serialized to. */
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
