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
import { failoverVaults, manyPoints } from './failover.ts'
import { type CommitWatch, watchCommits } from './commit-watch.ts'
import type { Finding, Say } from './show.ts'

const readers = 8
const piecesPerLoss = 20
const pieceMilliseconds = 100
/** A server that was lost is copied anew at most, and the others have to catch up. */
const patienceSeconds = 300
/** HAProxy, the gateways' pools and the replicas' new connections follow the leader. */
const followSeconds = 5

interface ClusterRun {
  readonly homes: Homes
  readonly points: number
  /** How the leader is lost, each time. */
  readonly losses: readonly Loss[]
  readonly leaseSeconds: number
  readonly say: Say
}

/** Moments of a loss in milliseconds of performance.now(). */
interface Lost {
  readonly loss: Loss
  readonly at: number
  readonly leaderAt: number
  readonly commitAt: number
}

/**
 * Loses the leader of a cluster again and again, while a gateway applies a feed and readers ask three gateways, each client
 * with the version that it was told last.
 */
export async function cluster({ homes, points, losses, leaseSeconds, say }: ClusterRun): Promise<Finding> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cluster-feed-'))
  const feed = path.join(folder, 'feed.ndjson')
  const facts = manyPoints(points)
  // Every vault is there before it is asked for.
  const first = facts.findIndex(({ kind }) => kind === 'mark') + failoverVaults.length * 2
  await writeFile(feed, feedText(facts.slice(0, first)))
  say('Bringing the cluster up')
  const running = await startCluster({ feed, leaseSeconds }).catch(async (error: unknown) => {
    await rm(folder, { recursive: true })
    throw error
  })
  const watch = watchCommits(running.url)
  try {
    await until(() => Promise.resolve(watch.lines >= first), patienceSeconds, 'the beginning of the feed is applied')
    const asking = startClusterReaders({ ports: running.gatewayPorts, facts, count: readers, watch })
    const done: Lost[] = []
    const pieces = piecesOf(facts.slice(first), losses.length * piecesPerLoss)
    for (const [index, loss] of losses.entries()) {
      const some = pieces.slice(index * piecesPerLoss, (index + 1) * piecesPerLoss)
      done.push(await lost(running, watch, feed, some, loss, say))
    }
    await until(() => Promise.resolve(watch.lines >= facts.length), patienceSeconds, 'the whole feed is applied')
    await wait(1_000)
    const leftOver = await asking.stop()
    say('Comparing what is stored with an undisturbed ingest')
    const lacking = await lackingIn(running, homes, facts)
    const flaws = [...leftOver, ...lacking, ...(await missingMetrics(running))]
    return findingOf(facts.length, done, asking, flaws, leftOver.length, lacking.length)
  } finally {
    await watch.stop()
    await running.down()
    await rm(folder, { recursive: true })
  }
}

function piecesOf(facts: readonly FactInput[], count: number): FactInput[][] {
  const size = Math.ceil(facts.length / count)
  return Array.from({ length: count }, (_, piece) => facts.slice(piece * size, (piece + 1) * size))
}

/** Loses the leader in the middle of some pieces of the feed, and brings its server back as a replica. */
async function lost(
  running: Cluster,
  watch: CommitWatch,
  feed: string,
  pieces: readonly FactInput[][],
  loss: Loss,
  say: Say,
): Promise<Lost> {
  // The last piece is not applied before another server leads.
  const appending = appendSlowly(feed, pieces.slice(0, -1))
  // Not at the same place of a batch each time.
  await wait(Math.random() * pieces.length * pieceMilliseconds)
  const leader = await running.leader()
  if (leader === null) throw new Error('No server leads')
  say(`${loss}: ${leader}`)
  const at = performance.now()
  await running.lose(leader, loss)
  watch.reconnect()
  const leaderAt = await watch.answered()
  await appending
  const { newest } = watch
  await appendSlowly(feed, pieces.slice(-1))
  const commitAt = await watch.commitAfter(newest)
  say(`${loss}: a leader after ${seconds(leaderAt - at)} s, a commit after ${seconds(commitAt - at)} s`)
  await running.start(leader)
  await until(() => running.isWhole(), patienceSeconds, `All servers after ${leader} was lost by ${loss}`)
  return { loss, at, leaderAt, commitAt }
}

async function appendSlowly(feed: string, pieces: readonly FactInput[][]): Promise<void> {
  for (const piece of pieces) {
    await appendFile(feed, feedText(piece))
    await wait(pieceMilliseconds)
  }
}

async function lackingIn(running: Cluster, homes: Homes, facts: readonly FactInput[]): Promise<string[]> {
  const whole = await (await homes.create()).open()
  const stored = await openDatabase({ engine: 'postgresql', url: running.url, connections: 2 })
  try {
    await apply(whole, facts)
    return differences(await dumpReadModel(stored), await dumpReadModel(whole))
  } finally {
    await stored.close()
    await whole.close()
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

function findingOf(
  facts: number,
  done: readonly Lost[],
  { answers, unanswered, refused, oldestSeconds, slowestMilliseconds }: ClusterReaders,
  others: readonly string[],
  wrong: number,
  lacking: number,
): Finding {
  const isLeaderless = (at: number): boolean =>
    done.some((one) => at >= one.at && at <= one.leaderAt + followSeconds * 1_000)
  const untimely = refused.filter(({ from, to }) => !isLeaderless(from) && !isLeaderless(to))
  const times = (name: 'leaderAt' | 'commitAt'): string => done.map((one) => seconds(one[name] - one.at)).join(' ')
  const flaws = untimely.map(({ code, gateway }) => `Gateway ${gateway} answered 503 ${code} while a server led`)
  if (answers === 0) flaws.push('No answer was checked')
  return {
    figures: {
      'facts of the feed': facts,
      'losses of the leader': done.map(({ loss }) => loss).join(' '),
      'seconds to a leader': times('leaderAt'),
      'seconds to a commit': times('commitAt'),
      'tables that differ in the end': lacking,
      answers,
      'without an answer after the machine stood still': unanswered,
      'answers 503': refused.length,
      'answers 503 while a server led': untimely.length,
      'wrong answers': wrong,
      'oldest data of an answer, s': oldestSeconds().toFixed(1),
      'slowest answer, s': seconds(slowestMilliseconds()),
    },
    flaws: [...others, ...flaws],
  }
}
