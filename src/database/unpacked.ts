import type { Statement } from './database.ts'

/** The rows of a statement: those that are packed into its one row, where they are. */
export function unpacked<Row>({ unpack }: Statement, rows: unknown[]): Row[] {
  if (unpack === undefined) return rows as Row[]
  const [row] = rows as { packed: string | null }[]
  return row?.packed == null ? [] : (unpack(row.packed) as Row[])
}
