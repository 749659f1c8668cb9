import type { Database } from '../database/database.ts'
import { createModelMetrics } from '../http/model-metrics.ts'
import { figuresReader } from './figures.ts'
import type { GatewayReadiness } from './readiness.ts'

/** Tells of the facts that came in, in Prometheus' text format. */
export function modelTelling(database: Database, readiness: GatewayReadiness): () => Promise<string> {
  return createModelMetrics({
    read: figuresReader(database),
    isFeedStopped: () => readiness.feedReason() !== null,
    nowSeconds: () => Date.now() / 1000,
  })
}
