import { untilCancelled } from '../../database/cancellation.ts'
import { createMetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import { createMetrics } from '../../http/ops/metrics.ts'
import { countForAllWorkers } from '../../http/middleware/rate-limit.ts'
import { monitorFeeds } from '../feed-conditions.ts'
import { openMetricsPort } from '../gateway.ts'
import { closeSeconds, withinSeconds } from '../commands/close.ts'
import { fillWithDemo, type Gateway, type ServeCommand, followFeeds } from '../commands/serve.ts'
import { createModelMetricsReader } from '../model-metrics.ts'
import { createWorkers } from './workers.ts'

/** Seconds that workers have to exit after their requests have finished. */
const workerExitSeconds = 3

/**
 * Starts a gateway as several worker processes on one port, and follows the configured feeds in this process.
 * @param program file that the workers run: that of this process, even if a newer version is installed later
 * @param migrations names of the migrations that the program needs
 * @throws {WorkerFailed} when the first worker cannot start
 * @throws {ReadCancelled} when the signal comes before it has
 */
export async function serveByWorkers(
  command: ServeCommand,
  program: string,
  migrations: readonly string[],
): Promise<Gateway> {
  const { config, database, log } = command
  if (config.demo && command.feed === null && command.chain === null) await fillWithDemo(command)
  const feeds = monitorFeeds((conditions) => workers.feedsChanged(conditions))
  const metrics = createMetrics({ worker: 'primary' })
  const readModelMetrics = createModelMetricsReader(database, feeds)
  const workers = createWorkers({
    count: config.workers,
    program,
    migrations,
    log,
    metricsEndpoint: () => metricsEndpoint(),
    conditions: feeds.conditions,
  })
  const metricsEndpoint = createMetricsEndpoint(async () => {
    const [ofWorkers, ...rest] = await Promise.all([workers.metrics(), metrics.text(), readModelMetrics()])
    return [...ofWorkers, ...rest]
  })
  countForAllWorkers()
  const metricsPort = await openMetricsPort(config, metricsEndpoint, log)
  const port = await untilCancelled(workers.start(), command.signal).catch(async (error: unknown) => {
    await workers.close(workerExitSeconds)
    await metricsPort?.close()
    throw error
  })
  const stopping = new AbortController()
  const { feedEnded, firstFacts } = followFeeds(command, feeds, stopping.signal)
  return {
    port,
    metricsPort: metricsPort?.port ?? null,
    firstFacts,
    feedEnded,
    async close() {
      stopping.abort()
      log.info('Stopping: the workers finish what runs', { stopSeconds: config.stopSeconds })
      await workers.close(config.stopSeconds + workerExitSeconds)
      await metricsPort?.close()
      await withinSeconds(closeSeconds, feedEnded)
    },
  }
}
