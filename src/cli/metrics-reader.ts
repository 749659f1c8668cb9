import { untilCancelled } from '../database/cancellation.ts'
import type { Database } from '../database/database.ts'
import { readCommitSeq, readFeeds, readNewestFactAt } from '../database/read/model-metrics.ts'
import { memoizeBriefly } from '../http/async/memoize-briefly.ts'
import type { ModelFigures } from '../http/ops/model-metrics.ts'

/** Options of {@link createMetricsReader}. */
export interface MetricsReaderOptions {
  /** Timeout of the database, below Prometheus' scrape timeout of 10 s. */
  readonly milliseconds?: number
  /** How long a result is reused, because untrusted clients may request it at any rate. */
  readonly restMilliseconds?: number
}

/**
 * Creates a function that reads the figures of the read model, once for all concurrent requests.
 * @returns a function that resolves with null where the database does not answer in time, and never rejects
 */
export function createMetricsReader(
  database: Pick<Database, 'query'>,
  { milliseconds = 800, restMilliseconds = 1_000 }: MetricsReaderOptions = {},
): () => Promise<ModelFigures | null> {
  return memoizeBriefly(() => read(database, milliseconds), restMilliseconds)
}

async function read(database: Pick<Database, 'query'>, milliseconds: number): Promise<ModelFigures | null> {
  const signal = AbortSignal.timeout(milliseconds)
  try {
    const reading = Promise.all([
      readFeeds(database, signal),
      readNewestFactAt(database, signal),
      readCommitSeq(database, signal),
    ])
    // The embedded database cannot cancel a running read.
    const [feeds, newestFactAt, commitSeq] = await untilCancelled(reading, signal)
    return { feeds, newestFactAt, commitSeq }
  } catch {
    return null
  }
}
