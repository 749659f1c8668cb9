import type { Database } from '../database/database.ts'
import { createModelMetrics } from '../http/ops/model-metrics.ts'
import { createMetricsReader } from './metrics-reader.ts'
import type { FeedMonitor } from './feed-conditions.ts'

/** Creates a function that returns the metrics of the read model and the feeds, in Prometheus' text format. */
export function createModelMetricsReader(database: Database, feeds: FeedMonitor): () => Promise<string> {
  return createModelMetrics({
    read: createMetricsReader(database),
    isFeedStopped: () => feeds.conditions().stopped.length > 0,
    isFeedWaiting: () => feeds.conditions().waiting.length > 0,
    setAside: () => feeds.conditions().setAside.length,
    nowSeconds: () => Date.now() / 1000,
  })
}
