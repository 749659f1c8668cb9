import type { Read, Snapshots, VersionedReader } from '../../database/database.ts'
import { type Context, contextOn, type ContextOptions, type ReadObserver, type RequestContext } from './context.ts'

/** A database whose reads return their data version, and that can run several reads in one snapshot. */
export type ConsistentDatabase = VersionedReader & Snapshots

export interface ConsistentReadsOptions extends ContextOptions {
  /** Called for each operation that runs again because its reads had different data versions. */
  readonly onRepeat?: () => void
}

/**
 * Runs an operation in a context of its own, so that all its reads are of one committed state of the database. The
 * operation may run twice; only the result or the error of the second run is returned.
 */
export type RunConsistently = <Result>(
  request: RequestContext,
  run: (context: Context) => Promise<Result>,
) => Promise<Result>

/**
 * Creates consistent reads. In the first run each statement has its own snapshot and returns its data version; so do
 * batched statements that requests share. If all versions are equal, no batch of facts was committed between them.
 * Otherwise the operation runs again in one snapshot of the database, which occupies a connection of the pool for the
 * whole run and so is not the first choice.
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
    const context = contextOn(reader, request, versions, options)
    try {
      return await run(context)
    } finally {
      // Contexts survive into the old generation; without this, all rows that they loaded would too.
      context.loaders.clear()
    }
  }

  return async (request, run) => {
    const versions = new ReadVersions()
    try {
      const result = await runOn(database, request, run, versions)
      if (versions.isOne) {
        request.onVersion?.(versions.version)
        return result
      }
    } catch (error) {
      if (versions.isOne) throw error
    }
    onRepeat?.()
    const inSnapshot = async (reader: VersionedReader) => {
      const ofSnapshot = new ReadVersions()
      const result = await runOn(reader, request, run, ofSnapshot)
      request.onVersion?.(ofSnapshot.version)
      return result
    }
    return await database.snapshot(inSnapshot, request.signal, versions.isUnbounded)
  }
}

/** Data versions of the reads of one run. */
class ReadVersions implements ReadObserver {
  /** Whether all reads that returned rows had one version. */
  isOne = true
  /** Whether a read was unbounded. */
  isUnbounded = false
  #version: string | undefined

  /** The version of the first read that had one; null if there is none. */
  get version(): string | null {
    return this.#version ?? null
  }

  note(version: string | null, read: Read): void {
    this.isUnbounded ||= read.isUnbounded === true
    this.#version ??= version ?? undefined
    if (version !== this.#version) this.isOne = false
  }
}
