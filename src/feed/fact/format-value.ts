import { NumberText } from './number-text.ts'

/** Formats a value of a line for a message, shortened to 60 characters. */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (value instanceof NumberText) return shortened(value.text)
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortened(typeof value === 'string' ? JSON.stringify(value) : String(value))
}

/** Shortens a text of a line for a message: a line may have millions of characters. */
export function shortened(text: string, maxCharacters = 60): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text
}
