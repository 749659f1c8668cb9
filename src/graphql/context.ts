import type { Cancellation } from '../database/cancellation.ts'
import { sourcesOf } from '../database/changes.ts'
import type { Reader } from '../database/database.ts'
import type { Source } from '../database/watcher.ts'
import type { ReportUnplanned } from './failures.ts'

/** An answer in the making. */
export interface Making {
  readonly report: ReportUnplanned
  /** Its reads are given up with it. */
  readonly signal?: Cancellation
  /** Takes in what its reads are made from. */
  readonly sources?: Set<Source>
  /** Is told where it isn't whole: it has errors, and may be another when it is asked for again. */
  readonly failed?: () => void
}

/** Is told how many keys a loader reads at once. */
export type OnBatch = (loader: string, keys: number) => void

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  readonly database: Reader
  readonly onBatch?: OnBatch | undefined
  /**
   * Its loaders, by how they read. They go with the request: were they found by a WeakMap, what they hold would outlive
   * it until the old garbage is looked for, which then is looked for all the time.
   */
  readonly loaders: Map<unknown, Map<string, unknown>>
}

/**
 * Lets go of what was loaded, when all is answered: who has waited for its turn has a context that is old garbage, and
 * all that this holds would be that too.
 */
export function forget({ loaders }: Context): void {
  loaders.clear()
}

/** Makes the context of each request. */
export type ContextOf = (making: Making) => Context

export function contextsOn(database: Reader, onBatch?: OnBatch): ContextOf {
  return ({ signal, sources }) => ({
    onBatch,
    loaders: new Map(),
    database: {
      query: (read, values) => {
        for (const source of sourcesOf(read, values)) sources?.add(source)
        return database.query(read, values, signal)
      },
    },
  })
}
