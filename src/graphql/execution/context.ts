import type { Cancellation } from '../../database/cancellation.ts'
import { tagsOf } from '../../database/commits/cache-tags.ts'
import type { CacheTag } from '../../database/commits/change-listener.ts'
import type { Read, Reader, VersionedReader } from '../../database/database.ts'
import type { ReportUnplanned } from './errors.ts'

/** An answer in the making. */
export interface RequestContext {
  readonly report: ReportUnplanned
  /** Who asks: the digest of an API key, or an address. Senders are admitted in turn. */
  readonly sender: string
  /** Its reads are given up with it. */
  readonly signal?: Cancellation
  /** Takes in what its reads are made from. */
  readonly sources?: Set<CacheTag>
  /** Is told where it isn't to be kept: it has errors, or what is true for a moment only. */
  readonly failed?: () => void
  /** What is known of the data when it is begun. */
  readonly data?: DataKnown
}

/** What a process knows of the data: `seq.mark` of the newest commit it heard of, and for how long it knows of all. */
export interface DataKnown {
  readonly version: string | null
  readonly newestTs: number | null
  readonly ageSeconds: number | null
}

const unknownData: DataKnown = { version: null, newestTs: null, ageSeconds: null }

/** Is told how many keys a loader reads at once. */
export type OnBatch = (loader: string, keys: number) => void

/** What one request's resolvers share: the database, and through it this request's loaders. */
export interface Context {
  readonly database: Reader
  readonly onBatch?: OnBatch | undefined
  /** Known before its first read, so that nothing of the answer is older. */
  readonly data: DataKnown
  readonly isStopped: (feed: string) => boolean
  readonly isWaiting: (feed: string) => boolean
  /** Says that the answer is true for a moment only. */
  readonly doNotKeep: () => void
  /**
   * Its loaders, by how they read. They go with the request: were they found by a WeakMap, what they hold would outlive
   * it until the old garbage is looked for, which then is looked for all the time.
   */
  readonly loaders: Map<unknown, Map<string, unknown>>
}

/** What all requests share, beside the database. */
export interface ContextOptions {
  readonly onBatch?: OnBatch
  readonly isStopped?: (feed: string) => boolean
  readonly isWaiting?: (feed: string) => boolean
}

/**
 * A context whose reads go by a reader.
 * @param note is told of each read, with the version of the data that its rows are of
 */
export function contextOn(
  reader: VersionedReader,
  { signal, sources, failed, data = unknownData }: RequestContext,
  note: (version: string | null, read: Read) => void,
  { onBatch, isStopped = () => false, isWaiting = () => false }: ContextOptions,
): Context {
  return {
    onBatch,
    data,
    isStopped,
    isWaiting,
    doNotKeep: () => failed?.(),
    loaders: new Map(),
    database: {
      async query<Row>(...[read, values]: Parameters<Reader['query']>) {
        for (const source of tagsOf(read, values)) sources?.add(source)
        const { rows, version } = await reader.read<Row>(read, values, signal)
        note(version, read)
        return rows
      },
    },
  }
}
