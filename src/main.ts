import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { BadChainConfig, ChainError } from './chain/errors.ts'
import type { ChainFile } from './cli/commands/chain.ts'
import { startBanner } from './cli/start-banner.ts'
import { runIngest } from './cli/commands/ingest.ts'
import { createLog, maskSecrets } from './cli/log.ts'
import { serveByWorkers } from './cli/workers/primary.ts'
import { serve } from './cli/commands/serve.ts'
import { WorkerFailed } from './cli/workers/supervisor.ts'
import { BadUsage, type Command, readCommand, usage } from './cli/commands/usage.ts'
import { onStopMessage, serveAsWorker, workerNumber } from './cli/workers/worker.ts'
import { BadConfig, type Config, readConfig } from './config.ts'
import { DataDirUnusable } from './database/pglite/data-directory.ts'
import { DatabaseFull } from './database/errors.ts'
import { DataDirInUse } from './database/pglite/data-directory-lock.ts'
import { openDatabase } from './database/open.ts'
import { DatabaseRefused } from './database/errors.ts'
import { readAddress } from './database/postgresql/server-address.ts'
import { DatabaseUnavailable } from './database/errors.ts'
import { DatabaseUnreachable } from './database/errors.ts'
import { BadFact, UnreadableFeed, UnrepeatableFeed, UnwritableRejects } from './feed/errors.ts'
import { CannotListen } from './http/server/server.ts'

/**
 * What is made where much was long-lived once isn't taken for long-lived ever after: after an hour of long lists short
 * answers would leave old garbage too, and what a batch of facts leaves would be looked for late.
 */
const noPretenuring = '--no-allocation-site-pretenuring'
/** The memory in use may grow by so much before garbage is looked for; by default it may double and more. */
const tightHeap = '--heap-growing-percent=30'

/** How long the feed, then the database, have to end after the requests have. */
const closeSeconds = 5

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** How long the greeting waits for the first facts of a feed. */
const greetingSeconds = 2

/** Aborted by the first signal to stop; the second one ends the process at once. */
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
  })
}

/** Of the configuration, as soon as it is read. */
let secrets: readonly string[] = []
const gateway = { isStarted: false }

setFlagsFromString(noPretenuring)
try {
  await run(readCommand(process.argv.slice(2)))
} catch (error) {
  process.exitCode = isWrongUse(error) ? 2 : 1
  console.error(isExplained(error) ? error.message : maskSecrets(inspect(error), secrets))
  // The channel to its primary would keep a worker that failed; what hangs was cut, but may still hold a gateway.
  if (gateway.isStarted) process.exit()
}

async function run(command: Command): Promise<void> {
  if (command.name === 'help') return console.log(usage)
  const config = readConfig(process.env)
  secrets = secretsOf(config)
  if (command.name === 'ingest') process.exitCode = await ingestFeed(config, command)
  else if (command.name === 'chain') await writeChain(config, command.file, command.follow)
  else await serveUntilStopped(config, command)
}

async function writeChain(config: Config, file: string, follow: boolean): Promise<void> {
  const { runChain, readChainFile, chainSecrets } = await import('./cli/commands/chain.ts')
  const chain = await readChainFile(file)
  secrets = [...secrets, ...chainSecrets(chain)]
  const log = createLog({ level: config.logLevel, secrets, output: process.stderr })
  if (hasBanner(process.env) && !process.stdout.isTTY) {
    log.warn('npm has written its banner before the facts; npm run -s chain does not')
  }
  await runChain({ chain, follow, output: process.stdout, log, signal: stopping.signal })
}

/** Whether npm has written what it runs to standard output, as it does unless it is to be silent. */
function hasBanner({ npm_lifecycle_event: script, npm_config_loglevel: loglevel }: NodeJS.ProcessEnv): boolean {
  return script !== undefined && loglevel !== 'silent'
}

/** What reads chains is loaded where one is read. */
async function readChain(file: string | null): Promise<ChainFile | null> {
  if (file === null) return null
  const { readChainFile, chainSecrets } = await import('./cli/commands/chain.ts')
  const chain = await readChainFile(file)
  secrets = [...secrets, ...chainSecrets(chain)]
  return chain
}

async function ingestFeed(config: Config, command: Extract<Command, { name: 'ingest' }>): Promise<number> {
  const database = await openDatabase(config.database, (message) => console.error(message))
  try {
    const { stdin: input, stderr: output } = process
    return await runIngest({ ...command, database, input, output, signal: stopping.signal, nowSeconds })
  } finally {
    await database.close()
  }
}

async function serveUntilStopped(config: Config, command: Extract<Command, { name: 'serve' }>): Promise<void> {
  gateway.isStarted = true
  const worker = workerNumber()
  if (worker !== null) onStopMessage(() => stopping.abort())
  setFlagsFromString(tightHeap)
  const chain = await readChain(command.chain)
  const log = createLog({ level: config.logLevel, secrets, worker, output: process.stderr })
  const database = await openDatabase(config.database, (message) => log.warn(message))
  const greet = (message: string): void => console.log(message)
  try {
    const start = worker !== null ? serveAsWorker : config.workers > 1 ? serveByWorkers : serve
    const served = await start({ ...command, chain, config, database, input: process.stdin, log, greet, nowSeconds })
    try {
      // The addresses in the greeting are those of vaults that are there.
      await withinSeconds(greetingSeconds, served.firstFacts)
      if (worker === null) greet(await startBanner(database, served.port, config))
      if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
    } finally {
      // Also after an error: a port that stays open would answer for a database that is closed.
      await withinSeconds(config.stopSeconds + closeSeconds, served.close())
    }
  } finally {
    await withinSeconds(closeSeconds, database.close())
  }
  if (stopping.signal.aborted) {
    // What hangs was cut, but may still hold the process.
    log.info('Stopped')
    process.exit(0)
  }
}

/** A database that doesn't answer must not keep the gateway from stopping: what it hasn't committed is rolled back. */
async function withinSeconds(seconds: number, work: Promise<void>): Promise<void> {
  await Promise.race([work, wait(seconds * 1000, undefined, { ref: false })])
}

/** Texts that must not be logged or printed. */
function secretsOf({ apiKeys, database }: Config): string[] {
  return [...apiKeys, ...(database.engine === 'postgresql' ? readAddress(database.url).passwords : [])]
}

/** What was asked for, or its configuration, can't be. */
function isWrongUse(error: unknown): boolean {
  return [BadUsage, BadConfig, BadChainConfig].some((kind) => error instanceof kind)
}

/** Errors whose message says all that their reader needs. */
function isExplained(error: unknown): error is Error {
  const explained = [
    ...[BadUsage, BadConfig, DataDirUnusable, DataDirInUse, CannotListen, WorkerFailed],
    ...[
      DatabaseUnreachable,
      DatabaseUnavailable,
      DatabaseRefused,
      DatabaseFull,
      BadFact,
      UnreadableFeed,
      UnrepeatableFeed,
      UnwritableRejects,
    ],
  ]
  return error instanceof ChainError || explained.some((kind) => error instanceof kind)
}
