import { Canceller, throwIfCancelled } from '../../database/cancellation.ts'
import type { Read, Reader, Snapshots, Value, VersionedReader } from '../../database/database.ts'
import { admissionLimits } from '../../limits.ts'
import { limitConcurrency } from '../../fairness/limit-concurrency.ts'
import { type ContextOptions, noProblems, type RequestContext, type ResolverContext, unknownData } from './context.ts'

/** A database whose reads return their data version, and that can run several reads in one snapshot. */
export type ConsistentDatabase = VersionedReader & Snapshots

/**
 * Runs an operation in a separate context, so that all its reads see one committed state of the database. The operation
 * may run twice; only the result or the error of the second run is returned.
 */
export type RunConsistently = <Result>(requestContext: RequestContext, execute: Execute<Result>) => Promise<Result>

/** Executes an operation in a context. */
type Execute<Result> = (context: ResolverContext) => Promise<Result>

/**
 * Creates consistent reads. In the first run each statement, also a batch shared by requests, has its own snapshot and
 * returns its data version. If all versions are equal, no batch of facts was committed between them. Otherwise the
 * operation runs again in one snapshot of the database, which occupies a connection of the pool for the whole run. Senders
 * take turns in these snapshots, of which only some run at once, so that other reads have connections too.
 */
export function createConsistentReads(database: ConsistentDatabase, options: ContextOptions = {}): RunConsistently {
  const limit = limitConcurrency(database.snapshotsAtOnce)
  return async (requestContext, execute) => {
    const first = new OperationReader(database, requestContext, options)
    try {
      const result = await first.execute(execute)
      if (first.hasOneVersion) return result
    } catch (error) {
      if (first.hasOneVersion) throw error
    }
    options.observer?.onRepeat?.()
    if (requestContext.origin !== undefined) requestContext.origin.version = null
    const runInSnapshot = (reader: VersionedReader) =>
      new OperationReader(reader, requestContext, options).execute(execute)
    const { sender, signal } = requestContext
    const repeat = () => database.snapshot(runInSnapshot, signal, first.hasLongRead)
    // Long reads have connections of their own.
    return await (first.hasLongRead ? repeat() : limit(sender, repeat, signal))
  }
}

/** Length of an address, `0x` and 40 digits, the prefix of the keys of named vaults. */
const addressLength = 42

/**
 * The reader of one run of an operation, which is part of its context: the first link of the chain that a read passes, which
 * records cache tags and versions, and limits how many reads the operation runs at a time.
 */
export class OperationReader implements Reader {
  readonly context: ResolverContext
  /** Data version of the first read that had one; null before it. */
  version: string | null = null
  /** Whether all reads had that version. */
  hasOneVersion = true
  hasLongRead = false
  readonly #reader: VersionedReader
  readonly #requestContext: RequestContext
  /** Cancels the reads of the run, and prevents further ones. */
  readonly #end = new Canceller()
  #running = 0
  /** Reads that wait for a running read to end. */
  readonly #waiting: (() => void)[] = []

  constructor(reader: VersionedReader, requestContext: RequestContext, options: ContextOptions) {
    const { origin = { tags: new Set(), version: null, isCacheable: true } } = requestContext
    const { stateAtStart = unknownData } = requestContext
    const { feeds = () => noProblems, observer = {} } = options
    this.#reader = reader
    this.#requestContext = requestContext
    this.context = { reader: this, stateAtStart, origin, feeds, observer, loaders: new Map() }
  }

  /** Executes the operation, once, and then cancels the reads that it no longer waits for. */
  async execute<Result>(operation: Execute<Result>): Promise<Result> {
    const { signal, origin } = this.#requestContext
    signal?.addEventListener('abort', this.#end)
    if (signal?.aborted === true) this.#end.abort()
    try {
      const result = await operation(this.context)
      if (origin !== undefined) origin.version = this.version
      return result
    } finally {
      signal?.removeEventListener('abort', this.#end)
      // A run that ends with an error may leave fields that still wait for reads.
      this.#end.abort()
      // Contexts survive into the old generation; without this, all rows that they loaded would too.
      this.context.loaders.clear()
    }
  }

  async query<Row>(read: Read, values: readonly Value[]): Promise<Row[]> {
    throwIfCancelled(this.#end)
    this.#addTags(read, values)
    this.hasLongRead ||= read.isLong === true
    let hasSucceeded = false
    // Further reads wait, so that one operation does not occupy all connections.
    if (this.#running >= admissionLimits.readsOfOperation)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    const started = performance.now()
    try {
      throwIfCancelled(this.#end)
      const { rows, version } = await this.#reader.read<Row>(read, values, this.#end)
      hasSucceeded = true
      this.version ??= version
      if (version === null || version !== this.version) this.hasOneVersion = false
      return rows
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
      this.context.observer.onStatement?.(read.name, (performance.now() - started) / 1000, hasSucceeded)
    }
  }

  /** Adds the cache tags of a read, which equal those that `changedTags` returns for a commit. */
  #addTags(read: Read, values: readonly Value[]): void {
    const { tags } = this.context.origin
    if (read.dependsOn !== 'named vaults') tags.add(read.dependsOn)
    else for (const key of values[0] as readonly string[]) tags.add(key.slice(0, addressLength))
  }
}
