import type { Statement } from './database.ts'

/** The rows of a statement: those that are packed into its one row, or into one of each key, where they are. */
export function unpacked<Row>({ unpack }: Statement, rows: unknown[]): Row[] {
  if (unpack === undefined) return rows as Row[]
  const texts = rows as { readonly packed: string | null; readonly key?: string }[]
  const lists = texts.map(({ packed, key }) => (packed === null ? [] : (unpack(packed, key) as Row[])))
  return lists.length === 1 ? (lists[0] as Row[]) : ([] as Row[]).concat(...lists)
}
