import { sourcesOf } from '../database/changes.ts'
import type { Reader } from '../database/database.ts'
import type { Source } from '../database/watcher.ts'

/** An answer in the making. */
export interface Making {
  /** Its reads are given up with it. */
  readonly signal?: AbortSignal
  /** Takes in what its reads are made from. */
  readonly sources?: Set<Source>
  /** Is told where it isn't whole: it has errors, and may be another when it is asked for again. */
  readonly failed?: () => void
}

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  readonly database: Reader
}

export function contextOf(database: Reader, { signal, sources }: Making): Context {
  return {
    database: {
      query: (read, values) => {
        for (const source of sourcesOf(read, values)) sources?.add(source)
        return database.query(read, values, signal)
      },
    },
  }
}
