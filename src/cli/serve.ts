import path from 'node:path'
import { Readable } from 'node:stream'
import { ChainError } from '../chain/errors.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { allStrategies, readVaultPages } from '../database/read/vault.ts'
import { readFeedPosition } from '../database/write/feed.ts'
import { demoFacts } from '../feed/demo.ts'
import { BadFact } from '../feed/errors.ts'
import { ingest } from '../feed/ingest.ts'
import { rejectsFile } from '../feed/rejects.ts'
import { followedSource, inputSource, type Source } from '../feed/source.ts'
import { createApp } from '../http/app.ts'
import { defaultBounds } from '../http/bounds.ts'
import { listen } from '../http/server.ts'
import { type ChainFile, followedChain } from './chain.ts'
import type { Log } from './log.ts'
import { createReadiness, type GatewayReadiness } from './readiness.ts'

export interface Gateway {
  readonly port: number
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
  const bounds = { ...defaultBounds, ...config.bounds }
  const readiness = createReadiness(database)
  const app = createApp({
    ...config,
    database,
    bounds,
    readiness,
    report: (err, requestId) => log.error('An answer failed', { err, requestId }),
    onAnswered: (request) => log.answered(request),
  })
  const server = await listen({
    listener: (request, response) => app.listener(request, response),
    onError: (err) => log.error('A request failed', { err }),
    port: config.port,
    host: config.host,
    bounds,
  })
  log.info('Listening', { port: server.port, engine: database.engine })
  const stopping = new AbortController()
  const { feedEnded, firstFacts } = startFeed(command, readiness, stopping.signal)
  return {
    port: server.port,
    firstFacts,
    feedEnded,
    async close() {
      stopping.abort()
      const closed = server.close(config.stopSeconds)
      log.info('Stopping: what runs is finished', { stopSeconds: config.stopSeconds })
      const cut = await closed
      if (cut > 0) log.warn('Requests that took too long to finish were cut', { cut })
      await feedEnded
    },
  }
}

/** What a newcomer can ask for first. */
export async function greeting(database: Database, port: number): Promise<string> {
  const base = `http://localhost:${port}`
  const page = {
    filter: { status: null, strategy: null, owner: null },
    orderBy: 'VALUE_USD',
    direction: 'DESC',
  } as const
  const [vault] = await readVaultPages(database, [allStrategies], { ...page, first: 1, after: null })
  const address = vault?.address ?? ':address'
  const paths = [
    `/vault/${address}/snapshot`,
    `/vault/${address}/equity`,
    `/vault/${address}/events`,
    '/strategies',
    '/universe',
    '/universe/pairs',
  ]
  return [`GraphiQL  ${base}/graphql`, ...paths.map((path) => `curl -s ${base}${path}`)].join('\n')
}

async function fillWithDemo({ database, greet, nowSeconds }: ServeCommand): Promise<void> {
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

function startFeed(
  command: ServeCommand,
  readiness: GatewayReadiness,
  signal: AbortSignal,
): Pick<Gateway, 'feedEnded' | 'firstFacts'> {
  const { database, feed, chain, input, log } = command
  const feeds: Pick<Following, 'name' | 'open'>[] = []
  if (feed === '-') feeds.push({ name: 'stdin', open: () => Promise.resolve(inputSource(input, signal)) })
  else if (feed !== null) feeds.push({ name: feed, open: () => followedFile(database, feed, signal) })
  if (chain !== null) feeds.push({ name: chain.file, open: () => followedChain(database, chain, log, signal) })
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
    const source = await open()
    await ingest({ database, source, signal, onProgress, ...(rejects === undefined ? {} : { rejects }) })
    if (!signal.aborted) log.info(`${source.name} is read to its end`)
  } catch (error) {
    if (signal.aborted) return
    readiness.feedStopped(error)
    const isExplained = error instanceof BadFact || error instanceof ChainError
    log.error(`The feed is stopped: ${(error as Error).message}`, isExplained ? {} : { err: error })
  } finally {
    await rejects?.close()
  }
}

async function followedFile(database: Database, feed: string, signal: AbortSignal): Promise<Source> {
  const file = path.resolve(feed)
  return followedSource(file, await readFeedPosition(database.prisma, file), signal)
}
