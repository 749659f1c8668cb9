import type { Reader } from '../database/database.ts'

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  /** For reads of this request alone, which are given up with it. */
  readonly database: Reader
  /** For reads that several requests share: none of them can give one up. */
  readonly shared: Reader
}

/** A request's context: its reads are given up with it. */
export function contextOf(database: Reader, signal: AbortSignal | undefined): Context {
  return { database: { query: (statement, values) => database.query(statement, values, signal) }, shared: database }
}
