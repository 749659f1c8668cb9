import type { ExecutionResult, GraphQLFormattedError } from 'graphql'
import { ExactNumber, stringify } from './exact-number.ts'

/** Data of a result as JSON text, written by a compiled operation. */
export class JsonText {
  readonly text: string
  /** JSON text of the separate part; null if there is none. */
  readonly part: string | null

  constructor({ text, part }: { readonly text: string; readonly part: string | null }) {
    this.text = text
    this.part = part
  }

  /** Casts to the type of a result's data: readers of the data must know that it is text. */
  asData(): Record<string, unknown> {
    return this as object as Record<string, unknown>
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** A result whose errors may be formatted already. */
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
