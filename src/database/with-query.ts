import type { Database, StatementReader } from './database.ts'

/** Adds `query`, which returns rows without a version, to a reader. */
export function withQuery(reader: Pick<StatementReader, 'read'>): Pick<Database, 'read' | 'query'> {
  return {
    ...reader,
    query: async <Row>(...query: Parameters<Database['query']>) => (await reader.read<Row>(...query)).rows,
  }
}
