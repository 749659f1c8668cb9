import { defaultHttpLimits, versionLimits } from '../limits.ts'
import { connectionLimits } from '../limits/connections.ts'
import type { Config } from '../config.ts'
import type { ChangeListener } from '../database/commits/change-listener.ts'
import type { Database } from '../database/database.ts'
import { readVersionAt } from '../database/read/commit-log.ts'
import { createLedgerLog } from '../graphql/ledger-log.ts'
import type { ResponseCache } from '../http/cache/response-cache.ts'
import { type App, createApp } from '../http/app.ts'
import type { DataVersions } from '../http/cache/data-versions.ts'
import type { KnownOperations } from '../http/graphql/persisted-operations.ts'
import { type MetricsEndpoint, metricsListener } from '../http/ops/metrics-endpoint.ts'
import type { Readiness } from '../http/ops/health.ts'
import type { Metrics } from '../http/ops/metrics.ts'
import type { PageFolders } from '../http/pages/static-content.ts'
import { reportOccasionally } from '../http/async/report-occasionally.ts'
import { listen } from '../http/server/server.ts'
import type { Log } from './log.ts'
import type { FeedConditions } from './feed-conditions.ts'

/**
 * Timeout for the first poll of the commit log: a database outage must not prevent the start, because requests that
 * need no database are still answered.
 */
const firstCommitMilliseconds = 2_000

/** A listening server. Closing it lets running requests finish, up to a timeout. */
export interface Listening {
  readonly port: number
  close(): Promise<void>
}

/** Options of {@link openGateway}. */
export interface GatewayOptions {
  readonly config: Config
  readonly database: Database
  readonly log: Log
  readonly readiness: Readiness
  readonly cache: ResponseCache
  readonly versions: DataVersions
  readonly feeds: () => FeedConditions
  readonly metrics: Metrics
  /** The metrics to serve at `/metrics`. */
  readonly metricsEndpoint: MetricsEndpoint
  readonly pageFolders?: PageFolders | undefined
  /** Operations that clients may send by id only. */
  readonly persistedOperations?: KnownOperations | undefined
  /** Whether other workers serve the same clients. */
  readonly sharesRateLimit?: boolean
}

/**
 * Starts answering requests on the configured port.
 * @throws {CannotListen} when the port cannot be used
 */
export async function openGateway(options: GatewayOptions): Promise<Listening> {
  const {
    config,
    database,
    log,
    readiness,
    cache,
    versions,
    metrics,
    metricsEndpoint,
    sharesRateLimit = false,
  } = options
  const app = createApp({
    database,
    apiKeys: config.apiKeys,
    trustedProxies: config.trustedProxies,
    edgeSeconds: config.edgeSeconds,
    queryLimits: config.queryLimits,
    limits: config.httpLimits,
    rateLimit: config.rateLimit && { ...config.rateLimit, isAcrossWorkers: sharesRateLimit },
    cache,
    versions,
    versionAt: (seq) => readVersionAt(database, seq, AbortSignal.timeout(versionLimits.waitMilliseconds)),
    ledgerLog: createLedgerLog(database),
    feeds: options.feeds,
    readiness,
    pageFolders: options.pageFolders,
    persistedOperations: options.persistedOperations,
    metrics: config.metricsPort === null ? metricsEndpoint : null,
    report: (err, requestId) => log.error('An answer failed', { err, requestId }),
    observer: { ...metrics, onAnswered: [log.answered, metrics.onAnswered] },
  })
  const logRefused = reportOccasionally((count) => {
    log.warn('Connections are closed at once: as many are open as may be, in all or from one address', { count })
  }, connectionLimits.refusedReportSeconds * 1000)
  const reports = await database.listen(notifyAll(cache, versions, app.live))
  versions.onWait = reports.pollSoon
  await versions.waitUntil(() => versions.isListening, firstCommitMilliseconds)
  const opened = listen({
    listener: app.listener,
    onError: (err) => log.error('A request failed', { err }),
    port: config.port,
    host: config.host,
    limits: config.httpLimits,
    descriptorsElsewhere: config.database.engine === 'postgresql' ? config.database.connections : 0,
    isBehindProxies: config.trustedProxies > 0,
    onConnections: metrics.onConnections,
    onRefused: () => {
      metrics.onRefused()
      logRefused()
    },
  })
  const server = await opened.catch(async (error: unknown) => {
    await reports.stop()
    throw error
  })
  log.info('Listening', { port: server.port, engine: database.engine })
  return {
    port: server.port,
    async close() {
      app.live.endAll()
      const closed = server.close(config.stopSeconds)
      log.info('Stopping: waiting for running requests', { stopSeconds: config.stopSeconds })
      const cut = await closed
      if (cut > 0) log.warn('Requests that took too long to finish were cut', { cut })
      await reports.stop()
    },
  }
}

/**
 * Notifies the response cache before the data versions, so that a version is never announced while stale responses are
 * cached. Notifies the streams last, because they read through both.
 */
export function notifyAll(cache: ResponseCache, versions: DataVersions, live: App['live']): ChangeListener {
  return {
    committed: (commit) => {
      cache.committed(commit)
      versions.committed(commit)
      live.committed(commit)
    },
    listening: (isListening) => {
      cache.listening(isListening)
      versions.listening(isListening)
      live.listening(isListening)
    },
    upToDate: (sentAt) => versions.upToDate(sentAt),
  }
}

/** Serves `/metrics` on its own port; null where none is configured. */
export async function openMetricsPort(
  config: Config,
  metricsEndpoint: MetricsEndpoint,
  log: Log,
): Promise<Listening | null> {
  if (config.metricsPort === null) return null
  const limits = { ...defaultHttpLimits, connections: connectionLimits.metricsConnections }
  const server = await listen({
    listener: metricsListener(metricsEndpoint, limits),
    onError: (err) => log.error('A request for the metrics failed', { err }),
    port: config.metricsPort,
    host: config.host,
    limits,
    variable: 'METRICS_PORT',
  })
  log.info('Serving metrics', { port: server.port })
  return { port: server.port, close: async () => void (await server.close(0)) }
}
