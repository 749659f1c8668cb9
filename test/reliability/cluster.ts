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
/** Time for a lost server to be rebuilt, and for all servers to catch up. */
const timeoutSeconds = 300
/** Time for HAProxy, the connection pools of the gateways and the standbys to connect to a new leader. */
const reconnectSeconds = 5

/** Options of the program `cluster`. */
interface ClusterProgramOptions {
  readonly homes: Homes
  readonly points: number
  /** The way of each loss of the leader. */
  readonly losses: readonly Loss[]
  readonly leaseSeconds: number
  readonly reportProgress: ReportProgress
}

/** Times of a loss, of the next leader and of its first commit, in milliseconds of performance.now(). */
interface LeaderLoss {
  readonly loss: Loss
  readonly at: number
  readonly leaderAt: number
  readonly commitAt: number
}

/**
 * Repeatedly kills, crashes or switches over the leader of a cluster, while a gateway applies a feed and clients read
 * from three gateways; checks the responses, then compares the database with that of an undisturbed ingest.
 */
export async function cluster({
  homes,
  points,
  losses,
  leaseSeconds,
  reportProgress,
}: ClusterProgramOptions): Promise<ProgramResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cluster-feed-'))
  const feed = path.join(folder, 'feed.ndjson')
  const facts = failoverFacts(points)
  // All vaults exist before clients read them.
  const initialLines = facts.findIndex(({ kind }) => kind === 'mark') + failoverVaults.length * 2
  await writeFile(feed, feedText(facts.slice(0, initialLines)))
  reportProgress('starting the cluster')
  const running = await startCluster({ feed, leaseSeconds }).catch(async (error: unknown) => {
    await rm(folder, { recursive: true })
    throw error
  })
  const commitWatcher = startCommitWatcher(running.url)
  try {
    await until(
      () => Promise.resolve(commitWatcher.appliedLines >= initialLines),
      timeoutSeconds,
      'applying the start of the feed',
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
      'applying the whole feed',
    )
    await wait(1_000)
    const readerViolations = await clusterReaders.stop()
    reportProgress('comparing the database with an undisturbed ingest')
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

/** Splits facts into a number of chunks of equal size. */
function chunksOf(facts: readonly FactInput[], count: number): FactInput[][] {
  const size = Math.ceil(facts.length / count)
  return Array.from({ length: count }, (_, chunk) => facts.slice(chunk * size, (chunk + 1) * size))
}

/** Loses the leader while chunks of the feed are appended, and restarts its server as a standby. */
async function loseLeader(
  running: Cluster,
  commitWatcher: CommitWatcher,
  feed: string,
  chunks: readonly FactInput[][],
  loss: Loss,
  reportProgress: ReportProgress,
): Promise<LeaderLoss> {
  // The last chunk follows when another server leads: its commit is the first of the new leader.
  const appending = appendSlowly(feed, chunks.slice(0, -1))
  // A random time, so that losses hit different phases of a batch.
  await wait(Math.random() * chunks.length * chunkMilliseconds)
  const leader = await running.leader()
  if (leader === null) throw new Error('No server is the leader')
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
  await until(() => running.isWhole(), timeoutSeconds, `waiting for all servers after ${loss} of ${leader}`)
  return { loss, at, leaderAt, commitAt }
}

/** Appends chunks to the feed at intervals. */
async function appendSlowly(feed: string, chunks: readonly FactInput[][]): Promise<void> {
  for (const chunk of chunks) {
    await appendFile(feed, feedText(chunk))
    await wait(chunkMilliseconds)
  }
}

/** Compares the tables of the cluster with those of an undisturbed ingest of the same facts. */
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

/** Returns the metrics of Patroni, HAProxy and etcd that alert rules use but no server exports. */
async function missingMetrics({ metricsPorts }: Cluster): Promise<string[]> {
  const rules = await readFile(path.resolve(import.meta.dirname, '../cluster/alerts.yml'), 'utf8')
  const pages = await Promise.all(
    metricsPorts.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  )
  const names = new Set(rules.match(/\b(?:patroni|haproxy|etcd)_\w+/g) ?? [])
  const missing = [...names].filter(
    (name) => !pages.some((page) => page.includes(`\n${name}{`) || page.includes(`\n${name} `)),
  )
  return missing.map((name) => `Alert rules use ${name}, which no server exports`)
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1)

/** Creates the measurements, and checks that 503 was returned only without a leader. */
function toResult(
  facts: number,
  leaderLosses: readonly LeaderLoss[],
  { responses, unanswered, refused, oldestSeconds, slowestMilliseconds }: ClusterReaders,
  otherViolations: readonly string[],
  wrongResponses: number,
  tableDifferences: number,
): ProgramResult {
  const isLeaderless = (at: number): boolean =>
    leaderLosses.some((one) => at >= one.at && at <= one.leaderAt + reconnectSeconds * 1_000)
  const unexpectedRefusals = refused.filter(
    ({ sentAt, receivedAt }) => !isLeaderless(sentAt) && !isLeaderless(receivedAt),
  )
  const times = (name: 'leaderAt' | 'commitAt'): string =>
    leaderLosses.map((one) => seconds(one[name] - one.at)).join(' ')
  const violations = unexpectedRefusals.map(
    ({ code, gateway }) => `Gateway ${gateway}: status 503 ${code} while there was a leader`,
  )
  if (responses === 0) violations.push('No response was checked')
  return {
    measurements: {
      'facts of the feed': facts,
      'losses of the leader': leaderLosses.map(({ loss }) => loss).join(' '),
      'seconds until a leader': times('leaderAt'),
      'seconds until a commit': times('commitAt'),
      'tables that differ at the end': tableDifferences,
      responses,
      'requests without a response after a pause of the machine': unanswered,
      'responses 503': refused.length,
      'responses 503 while there was a leader': unexpectedRefusals.length,
      'wrong responses': wrongResponses,
      'oldest data of a response, s': oldestSeconds().toFixed(1),
      'slowest response, s': seconds(slowestMilliseconds()),
    },
    violations: [...otherViolations, ...violations],
  }
}
