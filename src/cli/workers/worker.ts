import cluster from 'node:cluster'
import { createResponseCache } from '../../http/cache/response-cache.ts'
import { DataVersions } from '../../http/cache/data-versions.ts'
import { createMetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import { createMetrics } from '../../http/ops/metrics.ts'
import { type FeedConditions, noFeedTrouble } from '../feed-conditions.ts'
import { openGateway } from '../gateway.ts'
import { createIpcQuestions, type ToPrimary, type ToWorker } from './ipc.ts'
import { createReadiness } from '../readiness.ts'
import type { Gateway, ServeCommand } from '../commands/serve.ts'
import { workerVariable } from './supervisor.ts'

/** More than the primary gives its workers and its database: after that a worker tells of itself alone. */
const tellMilliseconds = 2_500

/** This process's number among the workers; null where it is none of them. */
export function workerNumber(): number | null {
  return cluster.isWorker ? Number(process.env[workerVariable]) : null
}

/** Calls back when the primary says that it is time to stop. */
export function onStopMessage(stop: () => void): void {
  hear((message) => {
    if (message.kind === 'stop') stop()
  })
}

/** Answers requests on the port that this worker shares with the others. */
export async function serveAsWorker({ config, database, log }: ServeCommand): Promise<Gateway> {
  const cache = createResponseCache(config.cacheBytes)
  const data = new DataVersions()
  const metrics = createMetrics({ cache: () => cache.figures(), data, worker: workerNumber() ?? 0 })
  const toPrimary = createIpcQuestions(tellMilliseconds)
  let conditions: FeedConditions = noFeedTrouble
  hear((message) => {
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
    data,
    isStopped: (feed) => conditions.stopped.includes(feed),
    isWaiting: (feed) => conditions.waiting.includes(feed),
    readiness: createReadiness(database, { conditions: () => conditions, data }),
    tell: createMetricsEndpoint(async () => [
      (await toPrimary.ask((id) => say({ kind: 'all metrics?', id }))) ?? (await metrics.text()),
    ]),
    sharesRateLimit: true,
  })
  const nothing = Promise.resolve()
  return { ...gateway, metricsPort: null, firstFacts: nothing, feedEnded: nothing }
}

function hear(listener: (message: ToWorker) => void): void {
  process.on('message', listener)
}

function say(message: ToPrimary): void {
  // A primary that has ended ends this process too.
  process.send?.(message, undefined, undefined, () => undefined)
}
