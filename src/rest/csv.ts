import { exampleOf, type Schema } from './schemas.ts'

/** Matches the numbers in the JSON text of flat objects; never within a string, where quotes are escaped. */
const numbers = /"(\w+)":(-?\d[\d.eE+-]*)/g

/**
 * Converts a list to comma-separated values, with a header line. Numbers keep all digits; null is an empty field.
 * @param list JSON text of an array of flat objects
 * @see https://www.rfc-editor.org/rfc/rfc4180
 */
export function csvOfList(list: string, columns: readonly string[]): string {
  const rows = JSON.parse(list.replaceAll(numbers, '"$1":"$2"')) as Readonly<Record<string, string | boolean | null>>[]
  const lines = rows.map((row) => columns.map((column) => field(row[column])).join(','))
  return [columns.join(','), ...lines].map((line) => `${line}\r\n`).join('')
}

function field(value: string | boolean | null | undefined): string {
  const text = value == null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Describes a list as CSV, with an example of one row. */
export function csvContent(schema: Schema): object {
  const columns = Object.keys(schema.properties ?? {})
  const description = 'One line of names, then one for each item; fields are separated by commas (RFC 4180).'
  return { schema: { type: 'string', description }, example: csvOfList(JSON.stringify([exampleOf(schema)]), columns) }
}
