/** A cell of a table. */
export type Cell = string | number | boolean | null

/** A table to download. */
export interface CsvTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/**
 * Returns a table as comma-separated values.
 * @see RFC 4180
 */
export function csvText({ columns, rows }: CsvTable): string {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(cell: Cell): string {
  const text = cell === null ? '' : String(cell)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
