import type { Database, Read, Statement, Versioned, VersionedReader } from './database.ts'

/** A row as it was sent; hot reads tell in each which version of the data it is of. */
interface SentRow {
  readonly packed?: string | null
  readonly key?: string
  readonly dataVersion?: string
}

/** The rows of a statement: those that are packed into its one row, or into one of each key, where they are. */
export function decodeRows<Row>({ unpack }: Statement, sent: unknown[]): Versioned<Row> {
  const texts = sent as SentRow[]
  // All rows of a statement are of one snapshot.
  const version = texts[0]?.dataVersion ?? null
  if (unpack === undefined) return { rows: sent as Row[], version }
  const lists = texts.map(({ packed, key }) => (packed == null ? [] : (unpack(packed, key) as Row[])))
  return { rows: lists.length === 1 ? (lists[0] as Row[]) : ([] as Row[]).concat(...lists), version }
}

/** A reader that also gives rows alone. */
export function withPlainRows(reader: VersionedReader): Pick<Database, 'read' | 'query'> {
  const read: Database['read'] = (statement, values, signal) => reader.read(statement as Read, values, signal)
  return {
    read,
    query: async <Row>(...asked: Parameters<Database['query']>) => (await read<Row>(...asked)).rows,
  }
}
