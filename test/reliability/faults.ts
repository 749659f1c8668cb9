import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { differences, type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { type Home, openHomes } from '../support/home.ts'
import { type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { startProcess } from '../support/process.ts'
import { apply } from '../support/world.ts'
import { waitUntilCaughtUp } from './catch-up.ts'
import { createClient } from './client.ts'
import { FeedHistory } from './feed-history.ts'
import { type GatewayProcess, startGateway } from './gateway.ts'
import { growingWorld, writeGradually } from './growing-world.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { startReaders } from './readers.ts'

/** Kinds of outages, in turn: fast and immediate shutdown of PostgreSQL, and a stopped process (SIGSTOP). */
const faultKinds = ['fast', 'immediate', 'frozen', 'immediate', 'fast'] as const
const readers = 8
const upSeconds = 2
const downSeconds = 2
const timeoutSeconds = 30
/** Deadline of the gateway, with tolerance for a busy machine. */
const maxResponseMilliseconds = 12_000

/** Options of the program `faults`. */
interface FaultsOptions {
  readonly faults: number
  /** Duration of `frozen`; more than the deadline of the gateway tests that too. */
  readonly frozenSeconds: number
  /** Number of writers of the ingest. */
  readonly jobs?: number
  readonly reportProgress: ReportProgress
}

/**
 * Stops and restarts PostgreSQL repeatedly, while a gateway follows a feed, an ingest applies another, and readers
 * check each response against the feeds.
 */
export async function faults(options: FaultsOptions): Promise<ProgramResult> {
  const server = await startOwnPostgreSql()
  try {
    const homes = await openHomes(server.url)
    try {
      const home = await homes.create()
      const result = await underFaults(options, server, home, homes.folder)
      const undisturbed = await homes.create()
      const { catalogue, feeds } = worldOf(options)
      await applyTo(undisturbed, [...catalogue, ...feeds[0], ...feeds[1]])
      const tableDifferences = differences(await dumpOf(home), await dumpOf(undisturbed))
      return {
        measurements: { ...result.measurements, 'tables that differ at the end': tableDifferences.length },
        violations: [...result.violations, ...tableDifferences],
      }
    } finally {
      await homes.remove()
    }
  } finally {
    await server.remove()
  }
}

/** Returns the duration of all outages with the time between them, in seconds. */
function secondsOf({ faults, frozenSeconds }: FaultsOptions): number {
  const down = Array.from({ length: faults }, (_, at) => (faultKindAt(at) === 'frozen' ? frozenSeconds : downSeconds))
  return down.reduce((sum, seconds) => sum + seconds + 2 * upSeconds, upSeconds)
}

function faultKindAt(at: number): (typeof faultKinds)[number] {
  return faultKinds[at % faultKinds.length] ?? 'fast'
}

/** Returns feeds with some hundred facts for each second of the program. */
function worldOf(options: FaultsOptions): ReturnType<typeof growingWorld> {
  return growingWorld(2 + Math.ceil(secondsOf(options) / 8))
}

/** Runs the gateway, the ingest and the readers during the outages. */
async function underFaults(
  options: FaultsOptions,
  server: OwnPostgreSql,
  home: Home,
  folder: string,
): Promise<ProgramResult> {
  const { catalogue, feeds } = worldOf(options)
  await applyTo(home, catalogue)
  await deleteFeedPositions(home)
  const texts = feeds.map(feedText) as [string, string]
  const feed = path.join(folder, 'followed.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], home.env)
  const ingest = startProcess(['ingest', '-', '--jobs', String(options.jobs ?? 1)], home.env)
  const history = new FeedHistory(feeds.flat())
  const readerRun = startReaders(gateway.port, history, readers, true)
  const writing = Promise.all([
    writeGradually(texts[0], secondsOf(options), (part) => appendFile(feed, part)),
    writeGradually(texts[1], secondsOf(options), (part) => ingest.input.write(part)),
  ])
  await waitUntilStarted(home)
  const violations = await injectFaults(options, server, gateway)
  await writing
  ingest.input.end()
  const { status, stderr } = await ingest.ended
  if (status !== 0) violations.push(`The ingest exited with status ${String(status)}: ${stderr}`)
  violations.push(...(await waitUntilApplied(home, feed, Buffer.byteLength(texts[0]))))
  await readerRun.stop()
  violations.push(...(await waitUntilCaughtUp(gateway.port, history)))
  const outcome = await gateway.stop()
  if (outcome.status !== 0)
    violations.push(`The gateway exited with status ${String(outcome.status)}: ${outcome.stderr}`)
  const { result } = readerRun
  if (result.slowestMilliseconds > maxResponseMilliseconds)
    violations.push(`A response took ${Math.round(result.slowestMilliseconds)} ms`)
  const measurements = {
    'outages of PostgreSQL': options.faults,
    'facts applied during the outages': feeds.flat().length,
    'correct responses': result.responses.valid,
    'responses 503': result.responses.unavailable,
    'responses 404 before the vault existed': result.responses.notFound,
    'wrong responses': result.violations.length,
    'slowest response, ms': Math.round(result.slowestMilliseconds),
  }
  return { measurements, violations: [...violations, ...result.violations] }
}

/** Stops and restarts the server repeatedly, and checks that `/ready` fails and recovers. */
async function injectFaults(
  { faults, frozenSeconds, reportProgress }: FaultsOptions,
  server: OwnPostgreSql,
  gateway: GatewayProcess,
): Promise<string[]> {
  const violations: string[] = []
  for (let at = 0; at < faults; at++) {
    const faultKind = faultKindAt(at)
    reportProgress(`${at + 1} of ${faults}: ${faultKind}`)
    await wait(upSeconds * 1000)
    if (faultKind === 'frozen') server.freeze()
    else await server.stop(faultKind)
    const becameUnready = await waitForReadyStatus(gateway.port, 503)
    await wait((faultKind === 'frozen' ? frozenSeconds : downSeconds) * 1000)
    if (faultKind === 'frozen') server.thaw()
    else await server.start()
    const becameReady = await waitForReadyStatus(gateway.port, 200)
    if (!becameUnready) violations.push(`/ready did not fail during the outage ${faultKind}`)
    if (!becameReady) violations.push(`/ready did not recover after the outage ${faultKind}`)
  }
  await wait(upSeconds * 1000)
  return violations
}

/** Waits for a status of `/ready`; false if it is not returned in time. */
async function waitForReadyStatus(port: number, status: number): Promise<boolean> {
  const client = createClient(port, 1)
  const deadline = performance.now() + timeoutSeconds * 1000
  try {
    while (performance.now() < deadline) {
      if ((await client.send({ method: 'GET', target: '/ready' })).status === status) return true
      await wait(50)
    }
    return false
  } finally {
    client.close()
  }
}

/**
 * Deletes the positions of feeds: the catalogue was applied under the name of standard input, which the ingest uses.
 */
async function deleteFeedPositions(home: Home): Promise<void> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  await client.query('delete from feed')
  await client.end()
}

/** Waits until both feeds have a committed position: an ingest that cannot connect at its start exits. */
async function waitUntilStarted(home: Home): Promise<void> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  while ((await client.query('select from feed')).rowCount !== 2) await wait(50)
  await client.end()
}

/** Waits until the followed feed is applied to its end; returns an error if it is not in time. */
async function waitUntilApplied(home: Home, feed: string, bytes: number): Promise<string[]> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  const deadline = performance.now() + timeoutSeconds * 1000
  let applied = 0
  while (applied < bytes && performance.now() < deadline) {
    const { rows } = await client.query<{ byte: string }>('select byte from feed where name = $1', [feed])
    applied = Number(rows[0]?.byte ?? 0)
    await wait(100)
  }
  await client.end()
  return applied >= bytes ? [] : [`The followed feed is applied to byte ${applied} of ${bytes} only`]
}

async function applyTo(home: Home, facts: readonly FactInput[]): Promise<void> {
  const database = await home.open()
  await apply(database, facts)
  await database.close()
}

/** Returns all rows of the read model. */
async function dumpOf(home: Home): Promise<Dump> {
  const database = await home.open()
  try {
    return await dumpReadModel(database)
  } finally {
    await database.close()
  }
}
