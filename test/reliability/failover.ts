import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { openDatabase } from '../../src/database/open.ts'
import { differences, type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { type Outcome, type Running, startProcess } from '../support/process.ts'
import { addressOf, deposit, event, mark, midnight, opened, position, strategy } from '../support/world.ts'
import { type Servers, startServers } from './servers.ts'
import type { Finding, Say } from './show.ts'

export const failoverVaults = Array.from({ length: 8 }, (_, index) => addressOf(index + 1))
const rowEvery = 200
const waits = /The feed waits, and goes on by itself/

/** How a feed comes in. */
const ways = ['file', 'followed', 'stdin'] as const
type Way = (typeof ways)[number]

interface FailoverOptions {
  readonly failovers: number
  readonly points: number
  /** All of them unless some are named. */
  readonly ways?: readonly Way[]
  readonly say: Say
}

/**
 * Kills the primary under an ingest again and again, each time promoting a standby that lacks the newest batches, and the
 * ingest itself as well; compares what is there at the end of the feed with what an undisturbed ingest ends in.
 */
export async function failover(options: FailoverOptions): Promise<Finding> {
  const folder = await mkdtemp(path.join(tmpdir(), 'failover-'))
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, feedText(manyPoints(options.points)))
  const servers = await startServers()
  try {
    const whole = await undisturbed(servers, feed)
    const findings: Finding[] = []
    for (const way of options.ways ?? ways) findings.push(await disturbed(options, servers, way, feed, whole))
    return {
      figures: Object.assign(
        { 'facts of the feed': linesIn(await readFile(feed, 'utf8')) },
        ...findings.map(({ figures }) => figures),
      ) as Finding['figures'],
      flaws: findings.flatMap(({ flaws }) => flaws),
    }
  } finally {
    await servers.remove()
    await rm(folder, { recursive: true })
  }
}

/** Points of several vaults in turn, and a ledger row beside some of them. */
export function manyPoints(points: number): FactInput[] {
  const facts: FactInput[] = [strategy('one'), ...failoverVaults.map((vault) => opened(vault, 'one'))]
  for (const vault of failoverVaults) facts.push(deposit(vault, midnight + 1, '1000'))
  for (let point = 0; point < points; point++) {
    const vault = failoverVaults[point % failoverVaults.length] ?? ''
    const ts = midnight + 60 + point
    const valueUsd = (1_000 + (point % 977) / 8).toFixed(3)
    facts.push(mark(vault, ts, valueUsd, { positions: [position('p', point % 3 === 0 ? '120' : '100')] }))
    if (point % rowEvery === 0) facts.push(event(vault, ts, { type: 'harvest', positionId: 'p', amountUsd: '1.5' }))
  }
  return facts
}

const linesIn = (text: string): number => text.split('\n').length - 1

async function undisturbed(servers: Servers, feed: string): Promise<Dump> {
  const url = await migratedDatabase(servers)
  const { status, stderr } = await start('file', feed, url).ended
  if (status !== 0) throw new Error(`An undisturbed ingest ended with ${String(status)}: ${stderr}`)
  return dumpOf(url)
}

async function migratedDatabase(servers: Servers): Promise<string> {
  const url = await servers.createDatabase()
  await (await openAt(url)).close()
  return url
}

const openAt = (url: string) => openDatabase({ engine: 'postgresql', url, connections: 2 })

function start(way: Way, feed: string, url: string): Running {
  const env = { DATABASE_URL: url, DEMO: '0', PORT: '0', LOG_LEVEL: 'info' }
  const args = { file: ['ingest', feed], stdin: ['ingest', '-'], followed: ['serve', '--feed', feed] }
  const running = startProcess(args[way], env)
  // A show that fails leaves none behind.
  const killWithThis = (): void => running.kill('SIGKILL')
  process.once('exit', killWithThis)
  void running.ended.finally(() => process.off('exit', killWithThis))
  if (way === 'stdin') void readFile(feed).then((bytes) => running.input.end(bytes))
  return running
}

async function disturbed(
  { failovers, say }: FailoverOptions,
  servers: Servers,
  way: Way,
  feed: string,
  whole: Dump,
): Promise<Finding> {
  const url = await migratedDatabase(servers)
  const lines = linesIn(await readFile(feed, 'utf8'))
  const flaws: string[] = []
  let lost = 0
  let kills = 0
  let running = start(way, feed, url)
  // Standard input ends with the first loss.
  const times = way === 'stdin' ? 1 : failovers
  for (let at = 0; at < times; at++) {
    say(`${way}: ${at + 1} of ${times}`)
    const kept = await goesPast(servers, url, at === 0 ? 0 : await servers.linesOf(url), running)
    servers.holdReplication()
    await goesPast(servers, url, kept, running)
    const isKilled = at % 3 === 2
    if (isKilled) running.kill('SIGKILL')
    lost += await servers.failOver(url, () => (at % 2 === 0 || isKilled ? Promise.resolve() : readOnlyWait(running)))
    if (!isKilled) continue
    kills++
    await running.ended
    running = start(way, feed, url)
  }
  void servers.passCommits(Infinity)
  if (way === 'stdin') flaws.push(...flawsOfEnd(await running.ended))
  flaws.push(...(await completed(servers, way === 'stdin' ? start(way, feed, url) : running, way, url, lines)))
  const lacking = differences(await dumpOf(url), whole).map((flaw) => `${way}: ${flaw}`)
  const figures = {
    [`${way}: failovers`]: times,
    [`${way}: kills of the process that feeds`]: kills,
    [`${way}: lines that failovers lost`]: lost,
    [`${way}: tables that differ in the end`]: lacking.length,
  }
  if (lost === 0) flaws.push(`${way}: no failover lost anything, so that nothing is shown`)
  return { figures, flaws: [...flaws, ...lacking] }
}

/**
 * Lets the feed be applied past a line, batch by batch.
 * @returns the lines that are
 */
async function goesPast(servers: Servers, url: string, line: number, running: Running): Promise<number> {
  for (;;) {
    const applied = await servers.linesOf(url)
    if (applied > line) return applied
    await Promise.race([servers.passCommits(1), isOver(running)])
  }
}

async function isOver(running: Running): Promise<never> {
  await running.ended
  throw new Error(`The run ended in the middle of the feed:\n${running.said()}`)
}

/** Waits until the process has met a server that takes no writes. */
async function readOnlyWait(running: Running): Promise<void> {
  await running.says(waits)
  await wait(1_000)
}

/** Standard input can't be read again: the run says so. */
function flawsOfEnd({ status, stderr }: Outcome): string[] {
  const isSaid = status === 1 && stderr.includes('lost facts of standard input')
  return isSaid ? [] : [`stdin: the run ended with ${String(status)} and said ${stderr}`]
}

/** Waits for the end of the feed. */
async function completed(servers: Servers, running: Running, way: Way, url: string, lines: number): Promise<string[]> {
  void servers.passCommits(Infinity)
  if (way === 'followed') {
    while ((await servers.linesOf(url)) < lines) await Promise.race([wait(100), isOver(running)])
    running.kill('SIGTERM')
  }
  const { status, stderr } = await running.ended
  return status === 0 ? [] : [`${way}: the run ended with ${String(status)} and said ${stderr}`]
}

async function dumpOf(url: string): Promise<Dump> {
  const database = await openAt(url)
  try {
    return await dumpReadModel(database)
  } finally {
    await database.close()
  }
}
