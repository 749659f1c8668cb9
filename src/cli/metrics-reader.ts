import { untilCancelled } from '../database/cancellation.ts'
import type { Database } from '../database/database.ts'
import { readCommitSeq, readFeeds, readNewestFactAt } from '../database/read/figures.ts'
import type { ModelFigures } from '../http/ops/model-metrics.ts'

export interface MetricsReaderOptions {
  /** How long the database has: less than the ten seconds that Prometheus waits, and much less than people do. */
  readonly milliseconds?: number
  /** How long what was read stands. Anybody may ask for it, as often as they like. */
  readonly restMilliseconds?: number
}

/**
 * Reads what the read model tells of itself, once for all who ask at about the same time.
 * @returns a read, which gives null where the database is away or doesn't answer in time, and never fails
 */
export function createMetricsReader(
  database: Pick<Database, 'query'>,
  { milliseconds = 800, restMilliseconds = 1_000 }: MetricsReaderOptions = {},
): () => Promise<ModelFigures | null> {
  let asked: Promise<ModelFigures | null> | undefined
  const forget = (): void => void (asked = undefined)
  return () => (asked ??= read(database, milliseconds).finally(() => setTimeout(forget, restMilliseconds).unref()))
}

async function read(database: Pick<Database, 'query'>, milliseconds: number): Promise<ModelFigures | null> {
  const signal = AbortSignal.timeout(milliseconds)
  try {
    const reading = Promise.all([
      readFeeds(database, signal),
      readNewestFactAt(database, signal),
      readCommitSeq(database, signal),
    ])
    // The embedded database can't give up a read.
    const [feeds, newestFactAt, commitSeq] = await untilCancelled(reading, signal)
    return { feeds, newestFactAt, commitSeq }
  } catch {
    return null
  }
}
