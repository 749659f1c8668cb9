/** A cell of a table. */
export type Cell = string | number | boolean | null

/** A table to download. */
export interface CsvTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Beginnings of texts that spreadsheets run as formulas. */
const formula = /^[=+\-@\t\r\n]/
const number = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

/**
 * Returns a table as comma-separated values. Texts come from feeds: one that a spreadsheet would run as a formula gets an
 * apostrophe before it. Amounts, which are texts too, stay as they are.
 * @see RFC 4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function csvText({ columns, rows }: CsvTable): string {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(cell: Cell): string {
  const given = cell === null ? '' : String(cell)
  const text = formula.test(given) && !number.test(given) ? `'${given}` : given
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
