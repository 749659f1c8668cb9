import { once } from 'node:events'
import path from 'node:path'
import type { Config } from '../../config.ts'
import { untilCancelled } from '../../database/cancellation.ts'
import { openServedDatabase } from '../../database/open.ts'
import { neededMigrations, needMigrations } from '../../database/prisma/migrations.ts'
import { createLog } from '../log.ts'
import { readManifest } from '../persisted-operations/manifest.ts'
import { logRefusedOperations } from '../persisted-operations/refused-operations.ts'
import { sharedOutput } from '../shared-output.ts'
import { startBanner } from '../start-banner.ts'
import { serveByWorkers } from '../workers/primary.ts'
import { onStopMessage, serveAsWorker, workerMigrations, workerNumber } from '../workers/worker.ts'
import type { ChainFile } from './chain.ts'
import { closeSeconds, withinSeconds } from './close.ts'
import { type Gateway, serve, type ServeCommand } from './serve.ts'
import type { Command } from './usage.ts'

/** Options of {@link serveUntilStopped}. */
export interface ServeUntilStopped extends Omit<Extract<Command, { name: 'serve' }>, 'name'> {
  readonly config: Config
  /** File that runs, and that workers run; the pages are in the folder `web` beside it. */
  readonly program: string
  readonly readChains: (files: readonly string[]) => Promise<readonly ChainFile[]>
  /** Returns the texts to mask in the log, with those of the chains that were read. */
  readonly secrets: () => readonly string[]
  /** Aborted by the first signal to stop. */
  readonly stopping: AbortController
  readonly nowSeconds: () => number
}

/** Seconds that the start banner waits for the first facts of a feed. */
const bannerSeconds = 2

/** Serves in this process or by workers, or as one of these, until the first signal to stop; then the process exits. */
export async function serveUntilStopped(options: ServeUntilStopped): Promise<void> {
  const { config, feed, skipBad, nowSeconds, stopping } = options
  const { signal } = stopping
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  const worker = workerNumber()
  if (worker !== null) {
    onStopMessage(() => stopping.abort())
    needMigrations(workerMigrations())
  }
  const chain = options.chain === null ? null : await options.readChains(options.chain)
  const persistedOperations = await readManifest(config.persistedOperations)
  const output = config.workers > 1 ? sharedOutput(process.stderr) : process.stderr
  const log = createLog({ level: config.logLevel, secrets: options.secrets(), worker, output })
  process.once('exit', () => log.flush())
  // A worker that replaces another may find the migrations of a newer version, for which the primary has yet to be restarted.
  const migrates = worker === null
  const opening = openServedDatabase(config.database, (message) => log.warn(message), migrates)
  const database = await untilCancelled(opening, signal)
  const print = (message: string): void => console.log(message)
  try {
    const sources = {
      feed,
      skipBad,
      chain,
      persistedOperations,
      pageFolders: pageFolders(options),
      input: process.stdin,
    }
    const served = await (
      await startOf(options, worker)
    )({ ...sources, config, database, log, print, nowSeconds, signal })
    try {
      // Waits for facts because the banner contains the address of a vault.
      await Promise.race([withinSeconds(bannerSeconds, served.firstFacts), stopped])
      if (worker === null) {
        // Beside the requests: an error of it must not end the process.
        logRefusedOperations(persistedOperations, config.queryLimits, { log, signal }).catch((err: unknown) =>
          log.error('The operations of PERSISTED_OPERATIONS were not checked', { err }),
        )
      }
      const banner = worker === null ? await startBanner(database, served.port, config, signal) : null
      if (banner !== null && !signal.aborted) print(banner)
      await stopped
    } finally {
      // Also closes after an error: an open port would serve a closed database.
      await withinSeconds(config.stopSeconds + closeSeconds, served.close())
    }
  } finally {
    await withinSeconds(closeSeconds, database.close())
  }
  if (signal.aborted) {
    // Forces the exit, because work that did not finish in time may keep the process alive.
    log.info('Stopped')
    process.exit(0)
  }
}

/** Returns the function that starts the gateway: as a worker, by workers, or in this process alone. */
async function startOf(
  { config, program }: ServeUntilStopped,
  worker: number | null,
): Promise<(command: ServeCommand) => Promise<Gateway>> {
  const migrations = await neededMigrations()
  if (worker !== null) return serveAsWorker
  return config.workers > 1 ? (command) => serveByWorkers(command, program, migrations) : serve
}

function pageFolders({ config, program }: ServeUntilStopped): Required<ServeCommand>['pageFolders'] {
  const folderOf = (page: string): string => path.join(path.dirname(program), 'web', page)
  return { graphiql: folderOf('graphiql'), explorer: config.explorer ? folderOf('explorer') : null }
}
