import type { Reader } from '../database/database.ts'

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  readonly database: Reader
}

/** A request's context: its reads are given up with it. */
export function contextOf(database: Reader, signal: AbortSignal | undefined): Context {
  return { database: { query: (statement, values) => database.query(statement, values, signal) } }
}
