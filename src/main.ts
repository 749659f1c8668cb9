import { setTimeout as wait } from 'node:timers/promises'
import { BadChainConfig, ChainError } from './chain/errors.ts'
import { type ChainFile, chainSecrets, readChainFile, runChain } from './cli/chain.ts'
import { runIngest } from './cli/ingest.ts'
import { createLog } from './cli/log.ts'
import { greeting, serve } from './cli/serve.ts'
import { BadUsage, type Command, readCommand, usage } from './cli/usage.ts'
import { BadConfig, type Config, readConfig } from './config.ts'
import { DataDirInUse } from './database/lock.ts'
import { openDatabase } from './database/open.ts'
import { DatabaseUnreachable } from './database/unreachable.ts'
import { BadFact, UnreadableFeed } from './feed/errors.ts'
import { CannotListen } from './http/server.ts'

/** How long the feed, then the database, have to end after the requests have. */
const closeSeconds = 5

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

try {
  await run(readCommand(process.argv.slice(2)))
} catch (error) {
  process.exitCode = isWrongUse(error) ? 2 : 1
  if (isExplained(error)) console.error(error.message)
  else console.error(error)
}

async function run(command: Command): Promise<void> {
  if (command.name === 'help') return console.log(usage)
  const config = readConfig(process.env)
  if (command.name === 'ingest') process.exitCode = await ingestFeed(config, command)
  else if (command.name === 'chain') await writeChain(config, await readChainFile(command.file), command.follow)
  else await serveUntilStopped(config, command)
}

async function writeChain(config: Config, chain: ChainFile, follow: boolean): Promise<void> {
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config, chain), output: process.stderr })
  await runChain({ chain, follow, output: process.stdout, log, signal: stopping.signal })
}

async function ingestFeed(config: Config, command: Extract<Command, { name: 'ingest' }>): Promise<number> {
  const database = await openDatabase(config.database)
  try {
    const { stdin: input, stderr: output } = process
    return await runIngest({ ...command, database, input, output, signal: stopping.signal })
  } finally {
    await database.close()
  }
}

async function serveUntilStopped(config: Config, command: Extract<Command, { name: 'serve' }>): Promise<void> {
  const chain = command.chain === null ? null : await readChainFile(command.chain)
  const database = await openDatabase(config.database)
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config, chain), output: process.stderr })
  const greet = (message: string): void => console.log(message)
  try {
    const nowSeconds = Math.floor(Date.now() / 1000)
    const gateway = await serve({ ...command, chain, config, database, input: process.stdin, log, greet, nowSeconds })
    // The addresses in the greeting are those of vaults that are there.
    await withinSeconds(greetingSeconds, gateway.firstFacts)
    greet(await greeting(database, gateway.port))
    if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
    await withinSeconds(config.stopSeconds + closeSeconds, gateway.close())
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

function secretsOf({ apiKeys, database }: Config, chain: ChainFile | null): string[] {
  const password = database.engine === 'postgresql' ? new URL(database.url).password : ''
  const ofChain = chain === null ? [] : chainSecrets(chain)
  return [...apiKeys, password, decodeURIComponent(password), ...ofChain]
}

/** What was asked for, or its configuration, can't be. */
function isWrongUse(error: unknown): boolean {
  return [BadUsage, BadConfig, BadChainConfig].some((kind) => error instanceof kind)
}

/** Errors whose message says all that their reader needs. */
function isExplained(error: unknown): error is Error {
  const explained = [BadUsage, BadConfig, DataDirInUse, DatabaseUnreachable, CannotListen, BadFact, UnreadableFeed]
  return error instanceof ChainError || explained.some((kind) => error instanceof kind)
}
