import type { Cancellation } from '../../database/cancellation.ts'
import type { CacheTag } from '../../database/commits/change-listener.ts'
import type { Reader } from '../../database/database.ts'

/**
 * Reports an unexpected error, each error of a request once.
 * @returns the request id, by which the operator finds it in the log
 */
export type ReportUnexpected = (error: unknown) => string

/** The context of a request: its properties that the execution of operations needs. */
export interface RequestContext {
  readonly report: ReportUnexpected
  /** Digest of the API key or address of the client: admission control serves senders, and networks of them, round-robin. */
  readonly sender: string
  /** Cancels the reads of the request. */
  readonly signal?: Cancellation
  /** Records the tags and the version of the data in the response. */
  readonly origin?: DataOrigin
  /** State of the data that was known before the first read. */
  readonly stateAtStart?: DataState
}

/** The origin of the data in a response: recorded by its reads, then part of the encoded response. */
export interface DataOrigin {
  /** Cache tags of the reads. */
  readonly tags: Set<CacheTag>
  /** The common data version of all reads of the returned run: empty before the first commit; null if there is none. */
  version: string | null
  /** Whether the response may be cached: not if it has errors, or is valid for a moment only. */
  isCacheable: boolean
}

/** State of the data at a moment, as far as this process was notified of it. */
export interface DataState {
  /** `seq.nonce` of the newest commit notified; null in an empty database, and while no notifications arrive. */
  readonly version: string | null
  /** Time of the newest fact at that version, in Unix seconds. */
  readonly newestTs: number | null
  /**
   * Whole seconds since this process last verified that it had received every notification; null before the first time.
   */
  readonly ageSeconds: number | null
}

/** The state of the data in a process without commit notifications. */
export const unknownData: DataState = { version: null, newestTs: null, ageSeconds: null }

/** A vault that a chain's reader has set aside. */
export interface SetAsideReport {
  readonly address: string
  readonly reason: string
  /** The first block without its facts. */
  readonly block: number
}

/** Problems of the feeds that a gateway follows, by the feed names of the stored positions. */
export interface FeedProblems {
  /** Feeds that ended with an error. */
  readonly stopped: readonly string[]
  /** Feeds that wait for the database, disk space, their file, or nodes of their chain. */
  readonly waiting: readonly string[]
  readonly setAside: readonly SetAsideReport[]
}

export const noProblems: FeedProblems = { stopped: [], waiting: [], setAside: [] }

/** Reasons why graphql-js executes an operation in place of the compiled one. */
export const fallbackReasons = ['error', 'not compiled'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

/** Observes the execution of operations, for metrics. */
export interface ExecutionObserver {
  /** Called with the number of keys that a loader reads by one statement. */
  readonly onLoad?: (loader: string, keys: number) => void
  /** Called when a statement has ended: its duration includes the wait for a connection. */
  readonly onStatement?: (name: string, seconds: number, hasSucceeded: boolean) => void
  /** Called for each operation that runs again in one snapshot, because its reads had different data versions. */
  readonly onRepeat?: () => void
  /** Called for each operation that graphql-js executes. */
  readonly onFallback?: (reason: FallbackReason) => void
}

/** The context of resolvers: the reader and the DataLoaders of one run of an operation. */
export interface ResolverContext {
  /** The run itself: it records the tags and the version of each read. */
  readonly reader: Reader
  readonly observer: ExecutionObserver
  /** State of the data that was known before the first read, so that no data in the response is older. */
  readonly stateAtStart: DataState
  readonly feeds: () => FeedProblems
  readonly origin: DataOrigin
  /**
   * DataLoaders of the run, by their batch function. A Map, not a WeakMap keyed by the context: entries of a
   * WeakMap live until a major garbage collection.
   */
  readonly loaders: Map<unknown, Map<string, unknown>>
}

/** The parts of resolver contexts that do not depend on the request. */
export interface ContextOptions {
  readonly observer?: ExecutionObserver | undefined
  /** Returns the problems of the feeds that this gateway follows; without it there are none. */
  readonly feeds?: () => FeedProblems
}
