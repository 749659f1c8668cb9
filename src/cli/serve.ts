import path from 'node:path'
import { Readable } from 'node:stream'
import { ChainError } from '../chain/errors.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { readFeedPosition } from '../database/write/feed.ts'
import { demoFacts } from '../feed/demo.ts'
import { BadFact, UnreadableFeed, UnwritableRejects } from '../feed/errors.ts'
import { ingest } from '../feed/ingest.ts'
import { patiently } from '../feed/patience.ts'
import { rejectsFile } from '../feed/rejects.ts'
import { followedSource, inputSource, type Source } from '../feed/source.ts'
import { createAnswerCache } from '../http/answer-cache.ts'
import { exposition } from '../http/exposition.ts'
import { createMetrics } from '../http/metrics.ts'
import { openGateway, openMetricsPort } from './gateway.ts'
import type { ChainFile, followedChain } from './chain.ts'
import type { Log } from './log.ts'
import { createReadiness, type GatewayReadiness } from './readiness.ts'
import { modelTelling } from './telling.ts'

export interface Gateway {
  readonly port: number
  /** Where `/metrics` is, if it has a port of its own. */
  readonly metricsPort: number | null
  /** Resolves when there is something to see: at the feed's first facts, or its end where it has none. */
  readonly firstFacts: Promise<void>
  /** Resolves when the feed has ended, which a followed one does only when the gateway stops or a line is bad. */
  readonly feedEnded: Promise<void>
  close(): Promise<void>
}

export interface ServeCommand {
  readonly config: Config
  readonly database: Database
  readonly feed: string | null
  readonly chain: ChainFile | null
  readonly skipBad: boolean
  readonly input: Readable
  readonly log: Log
  /** Tells newcomers what they see. */
  readonly greet: (message: string) => void
  readonly nowSeconds: number
}

/** Serves a database, and follows a feed into it. */
export async function serve(command: ServeCommand): Promise<Gateway> {
  const { config, database, log } = command
  if (config.demo && command.feed === null && command.chain === null) await fillWithDemo(command)
  const readiness = createReadiness(database)
  const cache = createAnswerCache(config.cacheBytes)
  const metrics = createMetrics({ cache: () => cache.figures() })
  const tellModel = modelTelling(database, readiness)
  const tell = exposition(() => Promise.all([metrics.text(), tellModel()]))
  const metricsPort = await openMetricsPort(config, tell, log)
  const gateway = await openGateway({ config, database, log, readiness, cache, metrics, tell }).catch(
    async (error: unknown) => {
      await metricsPort?.close()
      throw error
    },
  )
  const stopping = new AbortController()
  const { feedEnded, firstFacts } = startFeed(command, readiness, stopping.signal)
  return {
    port: gateway.port,
    metricsPort: metricsPort?.port ?? null,
    firstFacts,
    feedEnded,
    async close() {
      stopping.abort()
      await gateway.close()
      await metricsPort?.close()
      await feedEnded
    },
  }
}

/** Gives an empty database the demo world. */
export async function fillWithDemo({ database, greet, nowSeconds }: ServeCommand): Promise<void> {
  await database.exclusively(async () => {
    if ((await database.prisma.strategy.count()) > 0) return
    const lines = demoFacts(nowSeconds).map((fact) => `${JSON.stringify(fact)}\n`)
    await ingest({
      database,
      source: { ...inputSource(Readable.from([Buffer.from(lines.join(''))])), name: 'demo world' },
    })
    greet('The database was empty: it is filled with a demo world (DEMO=0 starts empty)')
  })
}

/** Follows the feed that was asked for, if any. */
export function startFeed(
  command: ServeCommand,
  readiness: GatewayReadiness,
  signal: AbortSignal,
): Pick<Gateway, 'feedEnded' | 'firstFacts'> {
  const { database, feed, chain, input, log } = command
  const feeds: Pick<Following, 'name' | 'open'>[] = []
  if (feed === '-') feeds.push({ name: 'stdin', open: () => Promise.resolve(inputSource(input, signal)) })
  else if (feed !== null) feeds.push({ name: feed, open: () => followedFile(database, feed, signal) })
  if (chain !== null) feeds.push({ name: chain.file, open: () => openChain(database, chain, log, signal) })
  if (feeds.length === 0) return { feedEnded: Promise.resolve(), firstFacts: Promise.resolve() }
  let applied: () => void = () => undefined
  const firstBatch = new Promise<void>((resolve) => (applied = resolve))
  const following = feeds.map((each) => follow(command, { ...each, readiness, signal, onProgress: applied }))
  const feedEnded = Promise.all(following).then(() => undefined)
  return { feedEnded, firstFacts: Promise.race([firstBatch, feedEnded]) }
}

interface Following {
  /** What its file of rejects is called by. */
  readonly name: string
  readonly open: () => Promise<Source>
  readonly readiness: GatewayReadiness
  readonly signal: AbortSignal
  readonly onProgress: () => void
}

async function follow({ database, skipBad, log }: ServeCommand, following: Following): Promise<void> {
  const { name, open, readiness, signal, onProgress } = following
  const rejects = skipBad ? rejectsFile(`${name}.rejects.ndjson`, 'a') : undefined
  try {
    const patience = {
      onWait: (reason: Error) => log.warn(`The feed waits, and goes on by itself: ${reason.message}`, { err: reason }),
      onGoOn: () => log.info('The feed goes on'),
    }
    const source = await patiently(open, patience, signal)
    if (source === null) return
    await ingest({ database, source, signal, onProgress, patience, ...(rejects === undefined ? {} : { rejects }) })
    if (!signal.aborted) log.info(`${source.name} is read to its end`)
  } catch (error) {
    if (signal.aborted) return
    readiness.feedStopped(error)
    log.error(`The feed is stopped: ${(error as Error).message}`, isExplained(error) ? {} : { err: error })
  } finally {
    await rejects?.close()
  }
}

/** Whether its message says all that its reader needs. */
function isExplained(error: unknown): boolean {
  return [BadFact, UnreadableFeed, UnwritableRejects, ChainError].some((kind) => error instanceof kind)
}

/** The chain's reader is loaded where a chain is read. */
async function openChain(...chain: Parameters<typeof followedChain>): Promise<Source> {
  return (await import('./chain.ts')).followedChain(...chain)
}

async function followedFile(database: Database, feed: string, signal: AbortSignal): Promise<Source> {
  const file = path.resolve(feed)
  return followedSource(file, await readFeedPosition(database.prisma, file), signal)
}
