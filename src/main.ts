import { runIngest } from './cli/ingest.ts'
import { CannotListen, greeting, type Log, serve } from './cli/serve.ts'
import { BadUsage, type Command, readCommand, usage } from './cli/usage.ts'
import { BadConfig, type Config, readConfig } from './config.ts'
import { DataDirInUse } from './database/lock.ts'
import { openDatabase } from './database/open.ts'
import { DatabaseUnreachable } from './database/unreachable.ts'
import { BadFact, UnreadableFeed } from './feed/errors.ts'

const log: Log = {
  info: (message) => console.log(message),
  error: (message, error) => console.error(message, ...(error === undefined ? [] : [error])),
}

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
  process.exitCode = error instanceof BadUsage || error instanceof BadConfig ? 2 : 1
  if (isExplained(error)) console.error(error.message)
  else console.error(error)
}

async function run(command: Command): Promise<void> {
  if (command.name === 'help') return console.log(usage)
  const config = readConfig(process.env)
  if (command.name === 'ingest') process.exitCode = await ingestFeed(config, command)
  else await serveUntilStopped(config, command)
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
  const database = await openDatabase(config.database)
  try {
    const nowSeconds = Math.floor(Date.now() / 1000)
    const gateway = await serve({ ...command, config, database, input: process.stdin, log, nowSeconds })
    log.info(await greeting(database, gateway.port))
    if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
    await gateway.close()
  } finally {
    await database.close()
  }
}

/** Errors whose message says all that their reader needs. */
function isExplained(error: unknown): error is Error {
  const explained = [BadUsage, BadConfig, DataDirInUse, DatabaseUnreachable, CannotListen, BadFact, UnreadableFeed]
  return explained.some((kind) => error instanceof kind)
}
