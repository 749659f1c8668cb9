import { setImmediate as nextIteration } from 'node:timers/promises'
import { charactersAtOnce } from '../limits.ts'
import { exampleOf, type Schema } from './openapi/schemas.ts'

/** Matches the numbers in the JSON text of flat objects; never within a string, where quotes are escaped. */
const numbers = /"(\w+)":(-?\d[\d.eE+-]*)/g

/** Matches the border of two flat objects in the JSON text of a list; never within a string, for the same reason. */
const border = /\},\{"\w/g

/**
 * Converts a list to comma-separated values, with a header line. Numbers keep all digits; null is an empty field. A long list is
 * converted in slices, between which the event loop runs.
 * @param list JSON text of an array of flat objects
 * @see https://www.rfc-editor.org/rfc/rfc4180
 */
export async function csvOfList(list: string, columns: readonly string[]): Promise<string> {
  const texts = [lineOf(columns)]
  for (let [from, to] = [1, 0]; from < list.length; from = to + 1) {
    if (from > 1 || list.length > charactersAtOnce) await nextIteration()
    to = sliceEnd(list, from)
    texts.push(csvLines(`[${list.slice(from, to)}]`, columns))
  }
  return texts.join('')
}

/** Returns the end of a slice of a list: the comma behind its last object, or the closing bracket of the list. */
function sliceEnd(list: string, from: number): number {
  const end = list.length - 1
  if (end - from <= charactersAtOnce) return end
  border.lastIndex = from + charactersAtOnce
  return (border.exec(list)?.index ?? end - 1) + 1
}

/** Converts the objects of a list to lines. */
function csvLines(list: string, columns: readonly string[]): string {
  const rows = JSON.parse(list.replaceAll(numbers, '"$1":"$2"')) as Readonly<Record<string, string | boolean | null>>[]
  return rows.map((row) => lineOf(columns.map((column) => field(row[column])))).join('')
}

function lineOf(fields: readonly string[]): string {
  return `${fields.join(',')}\r\n`
}

function field(value: string | boolean | null | undefined): string {
  const text = value == null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Describes a list as CSV, with an example of one row. */
export function csvContent(schema: Schema): object {
  const columns = Object.keys(schema.properties ?? {})
  const description = 'One line of names, then one for each item; fields are separated by commas (RFC 4180).'
  return {
    schema: { type: 'string', description },
    example: `${lineOf(columns)}${csvLines(JSON.stringify([exampleOf(schema)]), columns)}`,
  }
}
