import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import type { ChainCommand, ChainFile } from './cli/commands/chain.ts'
import { closeAtEnd, exitAtEnd } from './cli/commands/close.ts'
import { ingestCommand } from './cli/commands/ingest.ts'
import { hasSufficientMessage, isUsageError, sufficientMessage } from './cli/start-errors.ts'
import { onStopSignal } from './cli/stop-signals.ts'
import { createLog, maskSecrets } from './cli/log.ts'
import { type Command, readCommand, usage } from './cli/commands/usage.ts'
import { WorkerFailed } from './cli/workers/supervisor.ts'
import { type Config, readConfig } from './config.ts'
import { untilCancelled } from './database/cancellation.ts'
import { ReadCancelled } from './database/errors.ts'
import { openDatabase } from './database/open.ts'
import { readAddress } from './database/postgresql/server-address.ts'

/**
 * Disables V8's allocation site pretenuring, which would place short-lived objects in the old generation.
 * @see src/README.md, "V8 flags"
 */
const noPretenuring = '--no-allocation-site-pretenuring'
/**
 * Limits the growth of the old generation between two major collections, of a process that serves and of one that ingests.
 * @see src/README.md, "V8 flags"
 */
const heapGrowth = { serving: '--heap-growing-percent=30', ingesting: '--heap-growing-percent=100' }

/** The file that runs. */
const program = fileURLToPath(import.meta.url)

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Aborted by the first signal to stop. */
const stopping = new AbortController()
onStopSignal(() => stopping.abort())

// Ignores write errors of stderr (a full disk, a closed pipe): the process continues, and logs again when writes succeed.
process.stderr.on('error', () => undefined)

/** Secrets of the configuration, to be masked in output. */
let secrets: readonly string[] = []
const gateway = { isStarted: false }

setFlagsFromString(noPretenuring)
try {
  await run(readCommand(process.argv.slice(2)))
} catch (error) {
  if (isStopped(error)) endStopped()
  process.exitCode = isUsageError(error) ? 2 : 1
  console.error(hasSufficientMessage(error) ? sufficientMessage(error) : maskSecrets(inspect(error), secrets))
  // Forces the exit: a failed worker is kept alive by its IPC channel, and a gateway by work that did not finish in
  // time.
  if (gateway.isStarted) process.exit()
}

async function run(command: Command): Promise<void> {
  if (command.name === 'help') return console.log(usage)
  const config = readConfig(process.env)
  secrets = secretsOf(config)
  if (command.name === 'ingest') {
    setFlagsFromString(heapGrowth.ingesting)
    process.exitCode = await ingestFeed(config, command)
  } else if (command.name === 'migrate') await migrateDatabase(config)
  else if (command.name === 'chain') await writeChain(config, command.file, command.follow)
  else if (command.name === 'chain check') process.exitCode = await checkChain(config, command.file)
  else await serveUntilStopped(config, command)
}

/**
 * Tells whether the first signal has ended a process that was starting, or its first worker, which was sent it too, or a
 * command that read a chain.
 */
function isStopped(error: unknown): boolean {
  if (!stopping.signal.aborted || !(error instanceof Error)) return false
  return error instanceof ReadCancelled || error instanceof WorkerFailed || error.name === 'AbortError'
}

/** Exits at once: the start may wait for a server or another process. A migration that runs is rolled back, or ends whole. */
function endStopped(): never {
  console.error(`Stopped before the ${gateway.isStarted ? 'start' : 'command'} was complete`)
  process.exit(gateway.isStarted ? 0 : 1)
}

async function migrateDatabase(config: Config): Promise<void> {
  const opening = openDatabase(
    config.database,
    (message) => console.error(message),
    (names) => console.log(names.length === 0 ? 'No migration is missing.' : `Applied ${names.join(', ')}.`),
  )
  const database = await untilCancelled(opening, stopping.signal)
  await closeAtEnd(database)
}

async function writeChain(config: Config, file: string, follow: boolean): Promise<void> {
  const { runChain } = await import('./cli/commands/chain.ts')
  const command = await chainCommand(config, file)
  if (hasBanner(process.env) && !process.stdout.isTTY) {
    command.log.warn('npm has written its banner before the facts; npm run -s chain does not')
  }
  await runChain({ ...command, follow }).finally(exitAtEnd)
}

async function checkChain(config: Config, file: string): Promise<number> {
  const { runChainCheck } = await import('./cli/commands/chain-check.ts')
  const command = await chainCommand(config, file)
  return (await runChainCheck(command).finally(exitAtEnd)) ? 0 : 1
}

async function chainCommand(config: Config, file: string): Promise<Omit<ChainCommand, 'follow'>> {
  const chain = await readChain(file)
  const log = createLog({ level: config.logLevel, secrets, output: process.stderr })
  return { chain, output: process.stdout, log, signal: stopping.signal }
}

/** Tells whether npm has written its banner to standard output. */
function hasBanner({ npm_lifecycle_event: script, npm_config_loglevel: loglevel }: NodeJS.ProcessEnv): boolean {
  return script !== undefined && loglevel !== 'silent'
}

/** Reads a chain configuration. Its code is loaded only where a chain is configured. */
async function readChain(file: string): Promise<ChainFile> {
  const { readChainFile, chainSecrets } = await import('./cli/commands/chain.ts')
  const chain = await readChainFile(file)
  secrets = [...secrets, ...chainSecrets(chain)]
  return chain
}

/** Reads the configurations of several chains. */
async function readChains(files: readonly string[]): Promise<readonly ChainFile[]> {
  const { requireDistinctVaults } = await import('./cli/commands/chain.ts')
  const chains = await Promise.all(files.map(readChain))
  requireDistinctVaults(chains)
  return chains
}

async function ingestFeed(config: Config, command: Extract<Command, { name: 'ingest' }>): Promise<number> {
  const opening = openDatabase(config.database, (message) => console.error(message))
  const database = await untilCancelled(opening, stopping.signal)
  try {
    const { stdin: input, stderr: output } = process
    const run = { ...command, database, input, output, signal: stopping.signal, nowSeconds }
    // The embedded database has one writer.
    if (command.jobs === 1 || config.database.engine === 'pglite') return await ingestCommand(run)
    const { url } = config.database
    const { startWriterThreads } = await import('./cli/writers/writer-threads.ts')
    const thread = new URL('./writer-thread.js', import.meta.url)
    return await ingestCommand({ ...run, startWriters: () => startWriterThreads(thread, url, command.jobs) })
  } finally {
    await closeAtEnd(database)
  }
}

/** Serves until the first signal to stop, and exits. Its code is loaded only here: without GraphQL the other commands start sooner. */
async function serveUntilStopped(config: Config, command: Extract<Command, { name: 'serve' }>): Promise<void> {
  gateway.isStarted = true
  setFlagsFromString(heapGrowth.serving)
  const { serveUntilStopped: serve } = await import('./cli/commands/serve-until-stopped.ts')
  await serve({ ...command, config, program, readChains, secrets: () => secrets, stopping, nowSeconds })
}

/** Returns the texts that must be masked in output. */
function secretsOf({ apiKeys, database }: Config): string[] {
  const urls = database.engine === 'postgresql' ? [database.url, ...(database.replicas?.urls ?? [])] : []
  return [...apiKeys, ...urls.flatMap((url) => readAddress(url).passwords)]
}
