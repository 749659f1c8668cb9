import path from 'node:path'
import { Readable } from 'node:stream'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { isReadOnly } from '../../database/permissions.ts'
import { readUntilOfFeed, readFeedPosition } from '../../database/write/feed.ts'
import { demoFacts } from '../../feed/demo/demo.ts'
import { ingest } from '../../feed/ingest.ts'
import { retryDuringOutage } from '../../feed/retry.ts'
import { rejectsFile } from '../../feed/rejects/rejects.ts'
import { followedSource } from '../../feed/reading/followed-source.ts'
import { inputSource, type Source } from '../../feed/reading/source.ts'
import { createResponseCache } from '../../http/cache/response-cache.ts'
import { DataVersions } from '../../http/cache/data-versions.ts'
import type { KnownOperations } from '../../http/graphql/persisted-operations.ts'
import { createMetricsEndpoint } from '../../http/ops/metrics-endpoint.ts'
import { createMetrics } from '../../http/ops/metrics.ts'
import type { PageFolders } from '../../http/pages/static-content.ts'
import { type FeedMonitor, monitorFeeds, pathWatcher } from '../feed-conditions.ts'
import { openGateway, openMetricsPort } from '../gateway.ts'
import type { ChainFile, FollowedChain } from './chain.ts'
import { closeSeconds, withinSeconds } from './close.ts'
import { describeResume } from './ingest.ts'
import type { Log } from '../log.ts'
import { createReadiness } from '../readiness.ts'
import { hasSufficientMessage } from '../start-errors.ts'
import { createModelMetricsReader } from '../model-metrics.ts'

/** A running gateway. */
export interface Gateway {
  readonly port: number
  /** Port of `/metrics`; null where it shares the main port. */
  readonly metricsPort: number | null
  /** Resolves at the first batch of facts, or at the end of the feeds. */
  readonly firstFacts: Promise<void>
  /** Resolves when all feeds have ended; a followed one ends only at a stop or an error. */
  readonly feedEnded: Promise<void>
  close(): Promise<void>
}

/** Options of {@link serve}. */
export interface ServeCommand {
  readonly config: Config
  readonly database: Database
  readonly feed: string | null
  /** Files of chains that share no vault's address; null for none. */
  readonly chain: readonly ChainFile[] | null
  readonly skipBad: boolean
  readonly pageFolders?: PageFolders | undefined
  /** Operations that clients may send by id only. */
  readonly persistedOperations?: KnownOperations
  readonly input: Readable
  readonly log: Log
  /** Aborts the start while it waits for another process. */
  readonly signal?: AbortSignal
  /** Prints a message for the operator. */
  readonly print: (message: string) => void
  readonly nowSeconds: () => number
}

/** Starts a gateway in this process, and follows the configured feeds. */
export async function serve(command: ServeCommand): Promise<Gateway> {
  const { config, database, log } = command
  if (config.demo && command.feed === null && command.chain === null) await fillWithDemo(command)
  const feeds = monitorFeeds()
  const cache = createResponseCache(config.cacheBytes)
  const versions = new DataVersions()
  const readiness = createReadiness(database, { conditions: feeds.conditions, versions })
  const metrics = createMetrics({ cache: () => cache.figures(), versions, readServer: database.readServer })
  const readModelMetrics = createModelMetricsReader(database, feeds)
  const metricsEndpoint = createMetricsEndpoint(() => Promise.all([metrics.text(), readModelMetrics()]))
  const metricsPort = await openMetricsPort(config, metricsEndpoint, log)
  const opened = openGateway({
    config,
    database,
    log,
    readiness,
    cache,
    versions,
    feeds: feeds.conditions,
    metrics,
    metricsEndpoint,
    pageFolders: command.pageFolders,
    persistedOperations: command.persistedOperations,
  })
  const gateway = await opened.catch(async (error: unknown) => {
    await metricsPort?.close()
    throw error
  })
  const stopping = new AbortController()
  const { feedEnded, firstFacts } = followFeeds(command, feeds, stopping.signal)
  return {
    port: gateway.port,
    metricsPort: metricsPort?.port ?? null,
    firstFacts,
    feedEnded,
    async close() {
      stopping.abort()
      await gateway.close()
      await metricsPort?.close()
      await withinSeconds(closeSeconds, feedEnded)
    },
  }
}

/** Fills an empty database with the demo feed, unless it is read-only. */
export async function fillWithDemo({ database, print, nowSeconds, signal }: ServeCommand): Promise<void> {
  await database.exclusively(async () => {
    if ((await database.prisma.strategy.count()) > 0 || (await isReadOnly(database))) return
    const lines = demoFacts(nowSeconds()).map((fact) => `${JSON.stringify(fact)}\n`)
    await ingest({
      database,
      source: { ...inputSource(Readable.from([Buffer.from(lines.join(''))])), name: 'demo world' },
    })
    print('The database was empty: it is filled with a demo world (DEMO=0 starts empty)')
  }, signal)
}

/** Follows the configured feeds until they end or the signal aborts. */
export function followFeeds(
  command: ServeCommand,
  monitor: FeedMonitor,
  signal: AbortSignal,
): Pick<Gateway, 'feedEnded' | 'firstFacts'> {
  const { database, feed, chain, input, log } = command
  const feeds: Pick<FollowOptions, 'name' | 'rejectsBase' | 'open'>[] = []
  if (feed === '-') {
    const source = inputSource(input, signal)
    feeds.push({ name: source.name, rejectsBase: 'stdin', open: () => Promise.resolve(source) })
  } else if (feed !== null) {
    const name = path.resolve(feed)
    const watcher = pathWatcher(name, log, monitor)
    const { prisma } = database
    feeds.push({
      name,
      rejectsBase: feed,
      async open() {
        const stored = await readFeedPosition(prisma, name)
        const readUntil = await readUntilOfFeed(prisma, name, command.nowSeconds)
        return followedSource(name, stored, signal, watcher, readUntil)
      },
    })
  }
  for (const one of chain ?? []) {
    const { chainFails: onLastingFault, vaultsSetAside: onSetAside } = monitor
    feeds.push({
      name: one.name,
      rejectsBase: one.file,
      open: () => openChain({ database, chain: one, log, signal, onLastingFault, onSetAside }),
    })
  }
  if (feeds.length === 0) return { feedEnded: Promise.resolve(), firstFacts: Promise.resolve() }
  let onFirstBatch: () => void = () => undefined
  const firstBatch = new Promise<void>((resolve) => (onFirstBatch = resolve))
  const running = feeds.map((each) => follow(command, { ...each, monitor, signal, onBatch: onFirstBatch }))
  const feedEnded = Promise.all(running).then(() => undefined)
  return { feedEnded, firstFacts: Promise.race([firstBatch, feedEnded]) }
}

interface FollowOptions {
  /** Name of the feed's position. */
  readonly name: string
  /** Base name of the file of rejected lines. */
  readonly rejectsBase: string
  readonly open: () => Promise<Source>
  readonly monitor: FeedMonitor
  readonly signal: AbortSignal
  readonly onBatch: () => void
}

async function follow({ database, skipBad, log, nowSeconds }: ServeCommand, options: FollowOptions): Promise<void> {
  const { name, rejectsBase, open, monitor, signal, onBatch } = options
  const rejects = skipBad ? rejectsFile(`${rejectsBase}.rejects.ndjson`) : undefined
  try {
    const outageObserver = {
      waitsForOperator: true,
      onWait: (reason: Error) => {
        monitor.feedWaits(name, reason)
        log.warn(`The feed waits, and goes on by itself: ${reason.message}`, { err: reason })
      },
      onResume: () => {
        monitor.feedWaits(name, null)
        log.info('The feed goes on')
      },
    }
    const source = await retryDuringOutage(open, outageObserver, signal)
    if (source === null) return
    await ingest({
      database,
      source,
      signal,
      onBatch,
      outageObserver,
      nowSeconds,
      onNextFile: () => log.info(`${name} is another file now, which is read on`),
      onReopen: (stored) => log.warn(`The database has lost facts that were applied. ${describeResume(stored)}`),
      ...(rejects === undefined ? {} : { rejects }),
    })
    if (!signal.aborted) log.info(`${name} is read to its end`)
  } catch (error) {
    if (signal.aborted) return
    monitor.feedStopped(name, error)
    log.error(`The feed is stopped: ${(error as Error).message}`, hasSufficientMessage(error) ? {} : { err: error })
  }
}

/** Opens a chain. The code of src/chain is loaded only where a chain is configured. */
async function openChain(chain: FollowedChain): Promise<Source> {
  return (await import('./chain.ts')).followedChain(chain)
}
