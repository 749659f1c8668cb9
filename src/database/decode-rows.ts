import type { Database, Read, Statement, Versioned, VersionedReader } from './database.ts'

/** A row as the database sends it. Reads for responses include the version of the data in each row. */
interface SentRow {
  readonly encoded?: string | null
  readonly key?: string
  readonly dataVersion?: string
}

/**
 * Decodes the rows of a statement. Statements with a decoder send all rows as one text, or one text for each key.
 * @param sent rows from the driver
 * @returns the rows, with the version of their snapshot where the statement selects it
 */
export function decodeRows<Row>({ decode }: Statement, sent: unknown[]): Versioned<Row> {
  const texts = sent as SentRow[]
  // All rows of a statement are from one snapshot.
  const version = texts[0]?.dataVersion ?? null
  if (decode === undefined) return { rows: sent as Row[], version }
  const lists = texts.map(({ encoded, key }) => (encoded == null ? [] : (decode(encoded, key) as Row[])))
  return { rows: lists.length === 1 ? (lists[0] as Row[]) : ([] as Row[]).concat(...lists), version }
}

/** Adds reads by any statement, and `query`, which returns rows without a version, to a reader. */
export function withQuery(reader: VersionedReader): Pick<Database, 'read' | 'query'> {
  const read: Database['read'] = (statement, values, signal) => reader.read(toRead(statement), values, signal)
  return {
    read,
    query: async <Row>(...query: Parameters<Database['query']>) => (await read<Row>(...query)).rows,
  }
}

/** A statement that is not a read for responses runs on its own; its source is never asked for, since nothing caches it. */
function toRead(statement: Statement | Read): Read {
  return 'batching' in statement ? statement : { ...statement, source: 'feeds', batching: { kind: 'none' } }
}
