import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { allStrategies, readVaultPages } from '../database/read/vault.ts'
import { readFeedPosition } from '../database/write/feed.ts'
import { demoFacts } from '../feed/demo.ts'
import { ingest } from '../feed/ingest.ts'
import { rejectsFile } from '../feed/rejects.ts'
import { followedSource, inputSource, type Source } from '../feed/source.ts'
import { createApp } from '../http/app.ts'

/** Where the gateway tells what it does. */
export interface Log {
  info(message: string): void
  error(message: string, error?: unknown): void
}

export interface Gateway {
  readonly port: number
  /** Resolves when the feed has ended, which a followed one does only when the gateway stops or a line is bad. */
  readonly feedEnded: Promise<void>
  close(): Promise<void>
}

export interface ServeCommand {
  readonly config: Config
  readonly database: Database
  readonly feed: string | null
  readonly skipBad: boolean
  readonly input: Readable
  readonly log: Log
  readonly nowSeconds: number
}

/** The address to serve on can't be had. */
export class CannotListen extends Error {
  constructor(
    readonly port: number,
    reason: string,
  ) {
    super(`The gateway can't listen on port ${port}: ${reason}. Set PORT to another one, or to 0 for any that is free.`)
    this.name = 'CannotListen'
  }
}

/** Serves a database, and follows a feed into it. */
export async function serve(command: ServeCommand): Promise<Gateway> {
  const { config, database, log } = command
  if (config.demo && command.feed === null) await fillWithDemo(command)
  const app = createApp({ ...config, database, report: (error) => log.error('An answer failed', error) })
  const server = createServer((request, response) => {
    app.listener(request, response).catch((error: unknown) => {
      log.error('A request failed', error)
      response.destroy()
    })
  })
  const port = await listen(server, config)
  const stopping = new AbortController()
  const feedEnded = command.feed === null ? Promise.resolve() : follow(command, command.feed, stopping.signal)
  return {
    port,
    feedEnded,
    async close() {
      stopping.abort()
      server.close()
      server.closeAllConnections()
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

async function fillWithDemo({ database, log, nowSeconds }: ServeCommand): Promise<void> {
  await database.exclusively(async () => {
    if ((await database.prisma.strategy.count()) > 0) return
    const lines = demoFacts(nowSeconds).map((fact) => `${JSON.stringify(fact)}\n`)
    await ingest({
      database,
      source: { ...inputSource(Readable.from([Buffer.from(lines.join(''))])), name: 'demo world' },
    })
    log.info('The database was empty: it is filled with a demo world (DEMO=0 starts empty)')
  })
}

async function follow(
  { database, skipBad, input, log }: ServeCommand,
  feed: string,
  signal: AbortSignal,
): Promise<void> {
  const rejects = skipBad ? rejectsFile(`${feed === '-' ? 'stdin' : feed}.rejects.ndjson`, 'a') : undefined
  try {
    const source = feed === '-' ? inputSource(input, signal) : await followedFile(database, feed, signal)
    await ingest({ database, source, signal, ...(rejects === undefined ? {} : { rejects }) })
    if (!signal.aborted) log.info(`${source.name} is read to its end`)
  } catch (error) {
    if (!signal.aborted) log.error(`The feed is stopped: ${(error as Error).message}`)
  } finally {
    await rejects?.close()
  }
}

async function followedFile(database: Database, feed: string, signal: AbortSignal): Promise<Source> {
  const file = path.resolve(feed)
  return followedSource(file, await readFeedPosition(database.prisma, file), signal)
}

function listen(server: Server, { port, host }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new CannotListen(port, error.message))
    server.once('error', fail)
    server.listen({ port, ...(host === null ? {} : { host }) }, () => {
      server.off('error', fail)
      resolve((server.address() as AddressInfo).port)
    })
  })
}
