import { batchReads, defaultMaxKeys, type PipeliningReader } from './batching/batch-scheduler.ts'
import { type Cancellation, Canceller } from './cancellation.ts'
import type { AnyStatement, Database, StatementReader, Value, Versioned } from './database.ts'
import { DatabaseUnavailable, ReadCancelled } from './errors.ts'

/** A step of the path: a reader that passes reads on to the next one. */
type ReadStep = (next: PipeliningReader) => StatementReader

/** The steps before an engine's own reader, in the order in which a read passes them. */
const steps: Readonly<Record<Database['engine'], readonly ReadStep[]>> = {
  // The time limit comes first: behind the batch every read has a signal, that of its batch, and none would be limited.
  postgresql: [limitReads, batchReads],
  // A running statement blocks the process, so batches are read in chunks: one request alone may have more keys than a chunk.
  pglite: [batchReads, chunkReads],
}

/**
 * Composes the path of an engine's reads: everything that a read passes in the database layer, apart from the choice of
 * a replica, which comes first.
 * @param send the engine's own reader, which sends a statement to the database
 * @see README.md, "The path of a read"
 */
export function composeReads(engine: Database['engine'], send: PipeliningReader): Pick<Database, 'read' | 'query'> {
  return withQuery(steps[engine].reduceRight<StatementReader>((next, step) => step(next), send))
}

/** Adds `query`, which returns rows without a version, to a reader. */
export function withQuery(reader: Pick<StatementReader, 'read'>): Pick<Database, 'read' | 'query'> {
  return {
    ...reader,
    query: async <Row>(...query: Parameters<Database['query']>) => (await reader.read<Row>(...query)).rows,
  }
}

/**
 * Time limit of reads that have no signal, in milliseconds: longer than the server's statement timeout, so that it takes effect
 * only on an unresponsive connection.
 */
const defaultMilliseconds = 70_000

/**
 * Limits the time of reads without a cancellation signal: on an unresponsive connection, nothing else would end them.
 * @returns a reader whose reads without a signal fail as {@link DatabaseUnavailable} after the limit
 */
export function limitReads(next: StatementReader, milliseconds = defaultMilliseconds): StatementReader {
  return {
    read: (statement, values, signal) =>
      signal === undefined
        ? withLimit(milliseconds, (limit) => next.read(statement, values, limit))
        : next.read(statement, values, signal),
  }
}

async function withLimit<Result>(milliseconds: number, read: (limit: Canceller) => Promise<Result>): Promise<Result> {
  const limit = new Canceller()
  const timer = setTimeout(() => limit.abort(), milliseconds)
  try {
    return await read(limit)
  } catch (error) {
    throw limit.aborted && error instanceof ReadCancelled ? new DatabaseUnavailable(error) : error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Splits reads of many keys into chunks that run in sequence, so that other reads run in between.
 * @param next runs a chunk
 * @returns a reader whose rows have no version where a batch of facts was committed between two chunks
 */
export function chunkReads(next: StatementReader): StatementReader {
  return {
    async read<Row>(read: AnyStatement, values: readonly Value[], signal?: Cancellation) {
      const [keys, ...rest] = values
      const size = read.maxKeys ?? (read.batching?.kind === 'keyed' ? defaultMaxKeys : undefined)
      if (size === undefined || !Array.isArray(keys) || keys.length <= size) return next.read<Row>(read, values, signal)
      const chunks: Versioned<Row>[] = []
      for (let at = 0; at < keys.length; at += size) {
        const chunk = [(keys as string[]).slice(at, at + size), ...rest]
        chunks.push(await next.read<Row>(read, chunk, signal))
      }
      const version = chunks[0]?.version ?? null
      const isOneSnapshot = chunks.every((chunk) => chunk.version === version)
      return { rows: chunks.flatMap(({ rows }) => rows), version: isOneSnapshot ? version : null }
    },
  }
}
