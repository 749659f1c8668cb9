import cluster from 'node:cluster'
import { createResponseCache } from '../../http/cache/response-cache.ts'
import { DataVersions } from '../../http/cache/data-versions.ts'
import { createMetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import { createMetrics } from '../../http/ops/metrics.ts'
import { type FeedConditions, noFeedProblems } from '../feed-conditions.ts'
import { openGateway } from '../gateway.ts'
import { createIpcQuestions, type ToPrimary, type ToWorker } from './ipc.ts'
import { createReadiness } from '../readiness.ts'
import type { Gateway, ServeCommand } from '../commands/serve.ts'
import { migrationsVariable, workerVariable } from './supervisor.ts'

/** Timeout of the primary's answer, above its timeouts; a worker then reports only its own metrics. */
const metricsTimeoutMilliseconds = 2_500

/** Returns the number of this worker process; null for any other process. */
export function workerNumber(): number | null {
  return cluster.isWorker ? Number(process.env[workerVariable]) : null
}

/** Returns the names of the migrations that this worker process needs, as the primary states them. */
export function workerMigrations(): readonly string[] {
  return (process.env[migrationsVariable] ?? '').split(',').filter((name) => name !== '')
}

/** Registers a callback for the primary's stop message. */
export function onStopMessage(stop: () => void): void {
  onMessage((message) => {
    if (message.kind === 'stop') stop()
  })
}

/** Starts a gateway on the port that the workers share. */
export async function serveAsWorker(command: ServeCommand): Promise<Gateway> {
  const { config, database, log, pageFolders, persistedOperations } = command
  const cache = createResponseCache(config.cacheBytes)
  const versions = new DataVersions()
  const { readServer } = database
  const metrics = createMetrics({ cache: () => cache.figures(), versions, readServer, worker: workerNumber() ?? 0 })
  const toPrimary = createIpcQuestions(metricsTimeoutMilliseconds)
  let conditions: FeedConditions = noFeedProblems
  onMessage((message) => {
    if (message.kind === 'feeds') conditions = message.conditions
    if (message.kind === 'all metrics') toPrimary.answer(message.id, message.text)
    if (message.kind !== 'own metrics?') return
    void metrics.text().then((text) => say({ kind: 'own metrics', id: message.id, text }))
  })
  say({ kind: 'here' })
  const gateway = await openGateway({
    config,
    database,
    log,
    cache,
    metrics,
    versions,
    feeds: () => conditions,
    readiness: createReadiness(database, { conditions: () => conditions, versions }),
    metricsEndpoint: createMetricsEndpoint(async () => [
      (await toPrimary.ask((id) => say({ kind: 'all metrics?', id }))) ?? (await metrics.text()),
    ]),
    pageFolders,
    persistedOperations,
    sharesRateLimit: true,
  })
  const nothing = Promise.resolve()
  return { ...gateway, metricsPort: null, firstFacts: nothing, feedEnded: nothing }
}

function onMessage(listener: (message: ToWorker) => void): void {
  process.on('message', listener)
}

function say(message: ToPrimary): void {
  // This process ends with its primary, so that errors need no handling.
  process.send?.(message, undefined, undefined, () => undefined)
}
