import type { Database } from '../database/database.ts'

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  readonly database: Database
}
