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
import { isCaughtUp } from './caught-up.ts'
import { clientOf } from './client.ts'
import { type GatewayProcess, startGateway } from './gateway.ts'
import { growingWorld, pour } from './growing.ts'
import { History } from './history.ts'
import { startReaders } from './readers.ts'
import type { Finding, Say } from './show.ts'

/** How the server goes away, in turn. */
const ways = ['fast', 'immediate', 'frozen', 'immediate', 'fast'] as const
const readers = 8
const upSeconds = 2
const downSeconds = 2
const patienceSeconds = 30
/** The gateway's own deadline, and what a busy machine may add to it. */
const maxMilliseconds = 12_000

interface FaultsOptions {
  readonly faults: number
  /** How long a frozen server stays so: longer than the deadline shows that too. */
  readonly frozenSeconds: number
  /** Writers of the ingest. */
  readonly jobs?: number
  readonly say: Say
}

/**
 * Takes PostgreSQL away and brings it back, while a gateway follows a feed, an ingest applies another, and readers hold
 * each answer to what the feeds say.
 */
export async function faults(options: FaultsOptions): Promise<Finding> {
  const server = await startOwnPostgreSql()
  try {
    const homes = await openHomes(server.url)
    try {
      const home = await homes.create()
      const finding = await underFaults(options, server, home, homes.folder)
      const unharmed = await homes.create()
      const { catalogue, feeds } = worldOf(options)
      await applyTo(unharmed, [...catalogue, ...feeds[0], ...feeds[1]])
      const lost = differences(await dumpOf(home), await dumpOf(unharmed))
      return {
        figures: { ...finding.figures, 'tables that differ in the end': lost.length },
        flaws: [...finding.flaws, ...lost],
      }
    } finally {
      await homes.remove()
    }
  } finally {
    await server.remove()
  }
}

function secondsOf({ faults, frozenSeconds }: FaultsOptions): number {
  const down = Array.from({ length: faults }, (_, at) => (wayOf(at) === 'frozen' ? frozenSeconds : downSeconds))
  return down.reduce((sum, seconds) => sum + seconds + 2 * upSeconds, upSeconds)
}

function wayOf(at: number): (typeof ways)[number] {
  return ways[at % ways.length] ?? 'fast'
}

/** Some hundred facts a second. */
function worldOf(options: FaultsOptions): ReturnType<typeof growingWorld> {
  return growingWorld(2 + Math.ceil(secondsOf(options) / 8))
}

async function underFaults(
  options: FaultsOptions,
  server: OwnPostgreSql,
  home: Home,
  folder: string,
): Promise<Finding> {
  const { catalogue, feeds } = worldOf(options)
  await applyTo(home, catalogue)
  await forgetFeeds(home)
  const texts = feeds.map(feedText) as [string, string]
  const feed = path.join(folder, 'followed.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], home.env)
  const ingest = startProcess(['ingest', '-', '--jobs', String(options.jobs ?? 1)], home.env)
  const history = new History(feeds.flat())
  const reading = startReaders(gateway.port, history, readers, true)
  const poured = Promise.all([
    pour(texts[0], secondsOf(options), (part) => appendFile(feed, part)),
    pour(texts[1], secondsOf(options), (part) => ingest.input.write(part)),
  ])
  await areBegun(home)
  const flaws = await takeAway(options, server, gateway)
  await poured
  ingest.input.end()
  const { status, stderr } = await ingest.ended
  if (status !== 0) flaws.push(`The ingest ended with ${String(status)}: ${stderr}`)
  flaws.push(...(await isFollowed(home, feed, Buffer.byteLength(texts[0]))))
  await reading.stop()
  flaws.push(...(await isCaughtUp(gateway.port, history)))
  const outcome = await gateway.stop()
  if (outcome.status !== 0) flaws.push(`The gateway ended with ${String(outcome.status)}: ${outcome.stderr}`)
  const { load } = reading
  if (load.slowestMilliseconds > maxMilliseconds)
    flaws.push(`An answer took ${Math.round(load.slowestMilliseconds)} ms`)
  const figures = {
    'times that PostgreSQL went away': options.faults,
    'facts applied meanwhile': feeds.flat().length,
    'answers of the feeds': load.answers.right,
    'answers 503': load.answers.away,
    'answers 404 before the vault was there': load.answers['not there yet'],
    'wrong answers': load.flaws.length,
    'slowest answer, ms': Math.round(load.slowestMilliseconds),
  }
  return { figures, flaws: [...flaws, ...load.flaws] }
}

/** Takes the server away so many times, and looks whether `/ready` turns and comes back. */
async function takeAway(
  { faults, frozenSeconds, say }: FaultsOptions,
  server: OwnPostgreSql,
  gateway: GatewayProcess,
): Promise<string[]> {
  const flaws: string[] = []
  for (let at = 0; at < faults; at++) {
    const way = wayOf(at)
    say(`${at + 1} of ${faults}: ${way}`)
    await wait(upSeconds * 1000)
    if (way === 'frozen') server.freeze()
    else await server.stop(way)
    const turned = await becomes(gateway.port, 503)
    await wait((way === 'frozen' ? frozenSeconds : downSeconds) * 1000)
    if (way === 'frozen') server.thaw()
    else await server.start()
    const returned = await becomes(gateway.port, 200)
    if (!turned) flaws.push(`/ready did not turn when PostgreSQL was ${way}`)
    if (!returned) flaws.push(`/ready did not come back after PostgreSQL was ${way}`)
  }
  await wait(upSeconds * 1000)
  return flaws
}

/** Whether `/ready` comes to answer so. */
async function becomes(port: number, status: number): Promise<boolean> {
  const client = clientOf(port, 1)
  const until = performance.now() + patienceSeconds * 1000
  try {
    while (performance.now() < until) {
      if ((await client.ask({ method: 'GET', target: '/ready' })).status === status) return true
      await wait(50)
    }
    return false
  } finally {
    client.close()
  }
}

/** The catalogue came by standard input, as what is ingested will: without its position each of the two begins anew. */
async function forgetFeeds(home: Home): Promise<void> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  await client.query('delete from feed')
  await client.end()
}

/** Waits until both feeds have a committed position: an ingest that can't even begin says so, and ends. */
async function areBegun(home: Home): Promise<void> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  while ((await client.query('select from feed')).rowCount !== 2) await wait(50)
  await client.end()
}

/** Waits until the followed feed is applied to its end. */
async function isFollowed(home: Home, feed: string, bytes: number): Promise<string[]> {
  const client = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
  await client.connect()
  const until = performance.now() + patienceSeconds * 1000
  let applied = 0
  while (applied < bytes && performance.now() < until) {
    const { rows } = await client.query<{ byte: string }>('select byte from feed where name = $1', [feed])
    applied = Number(rows[0]?.byte ?? 0)
    await wait(100)
  }
  await client.end()
  return applied >= bytes ? [] : [`The followed feed was applied to byte ${applied} of ${bytes}`]
}

async function applyTo(home: Home, facts: readonly FactInput[]): Promise<void> {
  const database = await home.open()
  await apply(database, facts)
  await database.close()
}

async function dumpOf(home: Home): Promise<Dump> {
  const database = await home.open()
  try {
    return await dumpReadModel(database)
  } finally {
    await database.close()
  }
}
