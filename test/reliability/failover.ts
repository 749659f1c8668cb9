import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '../../src/database/open.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { differences, type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { type Outcome, type Running, startProcess } from '../support/process.ts'
import { addressOf, deposit, event, mark, midnight, opened, position, strategy } from '../support/world.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { type ReplicatedServers, startReplicatedServers } from './replicated-servers.ts'

export const failoverVaults = Array.from({ length: 8 }, (_, index) => addressOf(index + 1))
/** One point in this many is followed by a ledger row. */
const rowEvery = 200
const waitsMessage = /The feed waits, and goes on by itself/

/** Ways in which a feed is read: `ingest FILE`, `serve --feed FILE`, and `ingest -`. */
const feedInputs = ['file', 'followed', 'stdin'] as const
type FeedInput = (typeof feedInputs)[number]

/** Options of the program `failover`. */
interface FailoverOptions {
  readonly failovers: number
  readonly points: number
  /** All by default. */
  readonly feedInputs?: readonly FeedInput[]
  readonly reportProgress: ReportProgress
}

/**
 * Repeatedly kills the primary server during an ingest, and promotes a standby that lacks the newest batches; every
 * third time, kills the ingest too. At the end of the feed, compares the tables with those of an undisturbed ingest.
 */
export async function failover(options: FailoverOptions): Promise<ProgramResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'failover-'))
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, feedText(failoverFacts(options.points)))
  const servers = await startReplicatedServers()
  try {
    const expected = await runWithoutFailovers(servers, feed)
    const results: ProgramResult[] = []
    for (const feedInput of options.feedInputs ?? feedInputs)
      results.push(await runWithFailovers(options, servers, feedInput, feed, expected))
    return {
      measurements: Object.assign(
        { 'facts of the feed': linesIn(await readFile(feed, 'utf8')) },
        ...results.map(({ measurements }) => measurements),
      ) as ProgramResult['measurements'],
      violations: results.flatMap(({ violations }) => violations),
    }
  } finally {
    await servers.remove()
    await rm(folder, { recursive: true })
  }
}

/** Returns facts with a given number of points, of several vaults in turn, and ledger rows in between. */
export function failoverFacts(points: number): FactInput[] {
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

/** Ingests the feed without faults, and returns the tables. */
async function runWithoutFailovers(servers: ReplicatedServers, feed: string): Promise<Dump> {
  const url = await migratedDatabase(servers)
  const { status, stderr } = await startFeed('file', feed, url).ended
  if (status !== 0) throw new Error(`An undisturbed ingest exited with status ${String(status)}: ${stderr}`)
  return dumpOf(url)
}

/** Creates a database with the schema, and returns its URL. */
async function migratedDatabase(servers: ReplicatedServers): Promise<string> {
  const url = await servers.createDatabase()
  await (await openAt(url)).close()
  return url
}

const openAt = (url: string) => openDatabase({ engine: 'postgresql', url, connections: 2 })

/** Starts the process that applies the feed. */
function startFeed(feedInput: FeedInput, feed: string, url: string): Running {
  const env = { DATABASE_URL: url, DEMO: '0', PORT: '0', LOG_LEVEL: 'info' }
  const args = { file: ['ingest', feed], stdin: ['ingest', '-'], followed: ['serve', '--feed', feed] }
  const running = startProcess(args[feedInput], env)
  // No child process outlives this one.
  const killOnExit = (): void => running.kill('SIGKILL')
  process.once('exit', killOnExit)
  void running.ended.finally(() => process.off('exit', killOnExit))
  if (feedInput === 'stdin') void readFile(feed).then((bytes) => running.input.end(bytes))
  return running
}

/** Applies the feed in one way, with failovers in between. */
async function runWithFailovers(
  { failovers, reportProgress }: FailoverOptions,
  servers: ReplicatedServers,
  feedInput: FeedInput,
  feed: string,
  expected: Dump,
): Promise<ProgramResult> {
  const url = await migratedDatabase(servers)
  const lines = linesIn(await readFile(feed, 'utf8'))
  const violations: string[] = []
  let lostLines = 0
  let kills = 0
  let running = startFeed(feedInput, feed, url)
  // Standard input cannot be read again: its run ends with the first loss.
  const failoverCount = feedInput === 'stdin' ? 1 : failovers
  for (let at = 0; at < failoverCount; at++) {
    reportProgress(`${feedInput}: ${at + 1} of ${failoverCount}`)
    const appliedBefore = await advancePast(servers, url, at === 0 ? 0 : await servers.appliedLines(url), running)
    servers.stallReplication()
    await advancePast(servers, url, appliedBefore, running)
    const isKilled = at % 3 === 2
    if (isKilled) running.kill('SIGKILL')
    lostLines += await servers.failOver(url, () =>
      at % 2 === 0 || isKilled ? Promise.resolve() : waitForReadOnlyMessage(running),
    )
    if (!isKilled) continue
    kills++
    await running.ended
    running = startFeed(feedInput, feed, url)
  }
  void servers.passCommits(Infinity)
  if (feedInput === 'stdin') violations.push(...stdinExitViolations(await running.ended))
  violations.push(
    ...(await waitForEnd(
      servers,
      feedInput === 'stdin' ? startFeed(feedInput, feed, url) : running,
      feedInput,
      url,
      lines,
    )),
  )
  const tableDifferences = differences(await dumpOf(url), expected).map((violation) => `${feedInput}: ${violation}`)
  const measurements = {
    [`${feedInput}: failovers`]: failoverCount,
    [`${feedInput}: kills of the ingest`]: kills,
    [`${feedInput}: lines lost by failovers`]: lostLines,
    [`${feedInput}: tables that differ at the end`]: tableDifferences.length,
  }
  if (lostLines === 0) violations.push(`${feedInput}: no failover lost a line, so that the run proves nothing`)
  return { measurements, violations: [...violations, ...tableDifferences] }
}

/**
 * Lets commits through the proxy one by one, until more than a number of lines is applied.
 * @returns the number of applied lines
 */
async function advancePast(servers: ReplicatedServers, url: string, line: number, running: Running): Promise<number> {
  for (;;) {
    const applied = await servers.appliedLines(url)
    if (applied > line) return applied
    await Promise.race([servers.passCommits(1), rejectOnExit(running)])
  }
}

/** Rejects when the process exits. */
async function rejectOnExit(running: Running): Promise<never> {
  await running.ended
  throw new Error(`The process exited in the middle of the feed:\n${running.said()}`)
}

/** Waits until the process reports a read-only server. */
async function waitForReadOnlyMessage(running: Running): Promise<void> {
  await running.says(waitsMessage)
  await wait(1_000)
}

/** Checks that a run of standard input, which cannot be read again, fails and says so. */
function stdinExitViolations({ status, stderr }: Outcome): string[] {
  const isReported = status === 1 && stderr.includes('lost facts of standard input')
  return isReported ? [] : [`stdin: the run exited with status ${String(status)}: ${stderr}`]
}

/** Waits until the feed is applied to its end, and the process has exited. */
async function waitForEnd(
  servers: ReplicatedServers,
  running: Running,
  feedInput: FeedInput,
  url: string,
  lines: number,
): Promise<string[]> {
  void servers.passCommits(Infinity)
  if (feedInput === 'followed') {
    while ((await servers.appliedLines(url)) < lines) await Promise.race([wait(100), rejectOnExit(running)])
    running.kill('SIGTERM')
  }
  const { status, stderr } = await running.ended
  return status === 0 ? [] : [`${feedInput}: the run exited with status ${String(status)}: ${stderr}`]
}

/** Returns all rows of the read model. */
async function dumpOf(url: string): Promise<Dump> {
  const database = await openAt(url)
  try {
    return await dumpReadModel(database)
  } finally {
    await database.close()
  }
}
