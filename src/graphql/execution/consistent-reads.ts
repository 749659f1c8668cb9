import { type Cancellation, Canceller, throwIfCancelled } from '../../database/cancellation.ts'
import type { Reader, Snapshots, VersionedReader } from '../../database/database.ts'
import { admissionLimits } from '../../limits.ts'
import { type Context, type ContextOptions, noProblems, type RequestContext, unknownData } from './context.ts'

/** A database whose reads return their data version, and that can run several reads in one snapshot. */
export type ConsistentDatabase = VersionedReader & Snapshots

export interface ConsistentReadsOptions extends ContextOptions {
  /** Called for each operation that runs again because its reads had different data versions. */
  readonly onRepeat?: () => void
}

/**
 * Runs an operation in a separate context, so that all its reads see one committed state of the database. The operation
 * may run twice; only the result or the error of the second run is returned.
 */
export type RunConsistently = <Result>(
  request: RequestContext,
  run: (context: Context) => Promise<Result>,
) => Promise<Result>

/** Data versions of the reads of one run. */
interface ReadVersions {
  /** The version of the first read that had one; null if there is none. */
  version: string | null
  /** Whether all reads had that version. */
  areEqual: boolean
  /** Whether a read was long. */
  isLong: boolean
}

/**
 * Creates consistent reads. In the first run each statement, also a batch shared by requests, has its own snapshot and
 * returns its data version. If all versions are equal, no batch of facts was committed between them. Otherwise the
 * operation runs again in one snapshot of the database, which occupies a connection of the pool for the whole run.
 */
export function createConsistentReads(
  database: ConsistentDatabase,
  { onRepeat, ...options }: ConsistentReadsOptions = {},
): RunConsistently {
  async function runOn<Result>(
    reader: VersionedReader,
    request: RequestContext,
    run: (context: Context) => Promise<Result>,
    versions: ReadVersions,
  ): Promise<Result> {
    // A field that fails ends the run while other fields still wait for reads, which are then cancelled.
    const runEnd = new Canceller()
    request.signal?.addEventListener('abort', runEnd)
    if (request.signal?.aborted === true) runEnd.abort()
    const context = createContext(reader, request, options, versions, runEnd)
    try {
      const result = await run(context)
      // The text is empty before the first commit.
      if (request.origin !== undefined) request.origin.version = versions.version === '' ? null : versions.version
      return result
    } finally {
      request.signal?.removeEventListener('abort', runEnd)
      runEnd.abort()
      // Contexts survive into the old generation; without this, all rows that they loaded would too.
      context.loaders.clear()
    }
  }

  return async (request, run) => {
    const versions = { ...noVersions }
    try {
      const result = await runOn(database, request, run, versions)
      if (versions.areEqual) return result
    } catch (error) {
      if (versions.areEqual) throw error
    }
    onRepeat?.()
    if (request.origin !== undefined) request.origin.version = null
    const runInSnapshot = (reader: VersionedReader) => runOn(reader, request, run, { ...noVersions })
    return await database.snapshot(runInSnapshot, request.signal, versions.isLong)
  }
}

/** The state before the first read. */
const noVersions: ReadVersions = { version: null, areEqual: true, isLong: false }

/**
 * Creates the context of one run: each read is measured, and its cache tags and version are recorded.
 * @param versions updated by each read
 * @param signal cancels the reads of the run, and prevents further ones
 */
export function createContext(
  reader: VersionedReader,
  { origin = { tags: new Set(), version: null, isCacheable: true }, data = unknownData }: RequestContext,
  options: ContextOptions,
  versions: ReadVersions = { ...noVersions },
  signal?: Cancellation,
): Context {
  const { onStatement, feeds = () => noProblems } = options
  let running = 0
  /** Reads that wait for a running read to end. */
  const waiting: (() => void)[] = []
  const database: Reader = {
    async query<Row>(...[read, values]: Parameters<Reader['query']>) {
      throwIfCancelled(signal)
      // These tags equal those that `changedTags` writes for a commit.
      if (read.source !== 'named vaults') origin.tags.add(read.source)
      else for (const key of values[0] as readonly string[]) origin.tags.add(key.slice(0, addressLength))
      versions.isLong ||= read.isLong === true
      let hasSucceeded = false
      // Further reads wait, so that one operation does not occupy all connections.
      if (running >= admissionLimits.readsOfOperation) await new Promise<void>((resolve) => waiting.push(resolve))
      else running++
      const started = performance.now()
      try {
        throwIfCancelled(signal)
        const { rows, version } = await reader.read<Row>(read, values, signal)
        hasSucceeded = true
        versions.version ??= version
        if (version === null || version !== versions.version) versions.areEqual = false
        return rows
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
        onStatement?.(read.name, (performance.now() - started) / 1000, hasSucceeded)
      }
    },
  }
  return { database, data, origin, feeds, onBatch: options.onBatch, loaders: new Map() }
}

/** Length of an address, `0x` and 40 digits, the prefix of the keys of named vaults. */
const addressLength = 42
