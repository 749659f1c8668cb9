import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '../../src/database/open.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { type Cluster, type Loss, startCluster, until } from '../support/cluster.ts'
import { differences, dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { apply } from '../support/world.ts'
import { type ClusterReaders, startClusterReaders } from './cluster-readers.ts'
import { type CommitWatcher, startCommitWatcher } from './commit-watcher.ts'
import { failoverFacts, failoverVaults } from './failover.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

const readers = 8
const chunksPerLoss = 20
const chunkMilliseconds = 100
/** A server that was lost is copied anew at most, and the others have to catch up. */
const timeoutSeconds = 300
/** HAProxy, the gateways' pools and the replicas' new connections follow the leader. */
const reconnectSeconds = 5

interface ClusterRun {
  readonly homes: Homes
  readonly points: number
  /** How the leader is lost, each time. */
  readonly losses: readonly Loss[]
  readonly leaseSeconds: number
  readonly reportProgress: ReportProgress
}

/** Moments of a loss in milliseconds of performance.now(). */
interface LeaderLoss {
  readonly loss: Loss
  readonly at: number
  readonly leaderAt: number
  readonly commitAt: number
}

/**
 * Loses the leader of a cluster again and again, while a gateway applies a feed and readers ask three gateways, each client
 * with the version that it was told last.
 */
export async function cluster({
  homes,
  points,
  losses,
  leaseSeconds,
  reportProgress,
}: ClusterRun): Promise<ProgramResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cluster-feed-'))
  const feed = path.join(folder, 'feed.ndjson')
  const facts = failoverFacts(points)
  // Every vault is there before it is asked for.
  const initialLines = facts.findIndex(({ kind }) => kind === 'mark') + failoverVaults.length * 2
  await writeFile(feed, feedText(facts.slice(0, initialLines)))
  reportProgress('Bringing the cluster up')
  const running = await startCluster({ feed, leaseSeconds }).catch(async (error: unknown) => {
    await rm(folder, { recursive: true })
    throw error
  })
  const commitWatcher = startCommitWatcher(running.url)
  try {
    await until(
      () => Promise.resolve(commitWatcher.appliedLines >= initialLines),
      timeoutSeconds,
      'the beginning of the feed is applied',
    )
    const clusterReaders = startClusterReaders({ ports: running.gatewayPorts, facts, count: readers, commitWatcher })
    const leaderLosses: LeaderLoss[] = []
    const chunks = chunksOf(facts.slice(initialLines), losses.length * chunksPerLoss)
    for (const [index, loss] of losses.entries()) {
      const lossChunks = chunks.slice(index * chunksPerLoss, (index + 1) * chunksPerLoss)
      leaderLosses.push(await loseLeader(running, commitWatcher, feed, lossChunks, loss, reportProgress))
    }
    await until(
      () => Promise.resolve(commitWatcher.appliedLines >= facts.length),
      timeoutSeconds,
      'the whole feed is applied',
    )
    await wait(1_000)
    const readerViolations = await clusterReaders.stop()
    reportProgress('Comparing what is stored with an undisturbed ingest')
    const tableDifferences = await compareWithUndisturbedIngest(running, homes, facts)
    const violations = [...readerViolations, ...tableDifferences, ...(await missingMetrics(running))]
    return toResult(
      facts.length,
      leaderLosses,
      clusterReaders,
      violations,
      readerViolations.length,
      tableDifferences.length,
    )
  } finally {
    await commitWatcher.stop()
    await running.down()
    await rm(folder, { recursive: true })
  }
}

function chunksOf(facts: readonly FactInput[], count: number): FactInput[][] {
  const size = Math.ceil(facts.length / count)
  return Array.from({ length: count }, (_, chunk) => facts.slice(chunk * size, (chunk + 1) * size))
}

/** Loses the leader in the middle of some pieces of the feed, and brings its server back as a replica. */
async function loseLeader(
  running: Cluster,
  commitWatcher: CommitWatcher,
  feed: string,
  chunks: readonly FactInput[][],
  loss: Loss,
  reportProgress: ReportProgress,
): Promise<LeaderLoss> {
  // The last piece is not applied before another server leads.
  const appending = appendSlowly(feed, chunks.slice(0, -1))
  // Not at the same place of a batch each time.
  await wait(Math.random() * chunks.length * chunkMilliseconds)
  const leader = await running.leader()
  if (leader === null) throw new Error('No server leads')
  reportProgress(`${loss}: ${leader}`)
  const at = performance.now()
  await running.lose(leader, loss)
  commitWatcher.reconnect()
  const leaderAt = await commitWatcher.untilPrimaryResponds()
  await appending
  const { newestSeq } = commitWatcher
  await appendSlowly(feed, chunks.slice(-1))
  const commitAt = await commitWatcher.untilCommitAfter(newestSeq)
  reportProgress(`${loss}: a leader after ${seconds(leaderAt - at)} s, a commit after ${seconds(commitAt - at)} s`)
  await running.start(leader)
  await until(() => running.isWhole(), timeoutSeconds, `All servers after ${leader} was lost by ${loss}`)
  return { loss, at, leaderAt, commitAt }
}

async function appendSlowly(feed: string, chunks: readonly FactInput[][]): Promise<void> {
  for (const chunk of chunks) {
    await appendFile(feed, feedText(chunk))
    await wait(chunkMilliseconds)
  }
}

async function compareWithUndisturbedIngest(
  running: Cluster,
  homes: Homes,
  facts: readonly FactInput[],
): Promise<string[]> {
  const undisturbed = await (await homes.create()).open()
  const stored = await openDatabase({ engine: 'postgresql', url: running.url, connections: 2 })
  try {
    await apply(undisturbed, facts)
    return differences(await dumpReadModel(stored), await dumpReadModel(undisturbed))
  } finally {
    await stored.close()
    await undisturbed.close()
  }
}

/** Metrics of Patroni, HAProxy and etcd that the alert rules ask for, and that these don't have. */
async function missingMetrics({ metricsPorts }: Cluster): Promise<string[]> {
  const rules = await readFile(path.resolve(import.meta.dirname, '../cluster/alerts.yml'), 'utf8')
  const pages = await Promise.all(
    metricsPorts.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  )
  const names = new Set(rules.match(/\b(?:patroni|haproxy|etcd)_\w+/g) ?? [])
  const missing = [...names].filter(
    (name) => !pages.some((page) => page.includes(`\n${name}{`) || page.includes(`\n${name} `)),
  )
  return missing.map((name) => `The alert rules ask for ${name}, which nothing has`)
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1)

function toResult(
  facts: number,
  leaderLosses: readonly LeaderLoss[],
  { answers, unanswered, refused, oldestSeconds, slowestMilliseconds }: ClusterReaders,
  otherViolations: readonly string[],
  wrongAnswers: number,
  tableDifferences: number,
): ProgramResult {
  const isLeaderless = (at: number): boolean =>
    leaderLosses.some((one) => at >= one.at && at <= one.leaderAt + reconnectSeconds * 1_000)
  const unexpectedRefusals = refused.filter(({ from, to }) => !isLeaderless(from) && !isLeaderless(to))
  const times = (name: 'leaderAt' | 'commitAt'): string =>
    leaderLosses.map((one) => seconds(one[name] - one.at)).join(' ')
  const violations = unexpectedRefusals.map(
    ({ code, gateway }) => `Gateway ${gateway} answered 503 ${code} while a server led`,
  )
  if (answers === 0) violations.push('No answer was checked')
  return {
    measurements: {
      'facts of the feed': facts,
      'losses of the leader': leaderLosses.map(({ loss }) => loss).join(' '),
      'seconds to a leader': times('leaderAt'),
      'seconds to a commit': times('commitAt'),
      'tables that differ in the end': tableDifferences,
      answers,
      'without an answer after the machine stood still': unanswered,
      'answers 503': refused.length,
      'answers 503 while a server led': unexpectedRefusals.length,
      'wrong answers': wrongAnswers,
      'oldest data of an answer, s': oldestSeconds().toFixed(1),
      'slowest answer, s': seconds(slowestMilliseconds()),
    },
    violations: [...otherViolations, ...violations],
  }
}
