import type { Database, Statement, StatementReader, Versioned } from './database.ts'

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
  const lists: Row[][] = []
  for (const { encoded, key } of texts) if (encoded != null) lists.push(decode(encoded, key) as Row[])
  const [only, ...others] = lists
  return { rows: only !== undefined && others.length === 0 ? only : ([] as Row[]).concat(...lists), version }
}

/** Adds `query`, which returns rows without a version, to a reader. */
export function withQuery(reader: Pick<StatementReader, 'read'>): Pick<Database, 'read' | 'query'> {
  return {
    ...reader,
    query: async <Row>(...query: Parameters<Database['query']>) => (await reader.read<Row>(...query)).rows,
  }
}
