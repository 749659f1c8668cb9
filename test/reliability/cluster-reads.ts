import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, memberNames, startCluster, until } from '../support/cluster.ts'
import { feedText } from '../support/feeds.ts'
import { processorSeconds } from '../support/processor-time.ts'
import { type Client, createClient } from './client.ts'
import { startCommitWatcher } from './commit-watcher.ts'
import { failoverFacts, failoverVaults } from './failover.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

const points = 20_000
const connections = 8
const timeoutSeconds = 300
/** A PostgreSQL session reports its statistics up to 10 s after its last statement. */
const statisticsMilliseconds = 12_000

/** Options of the program `cluster-reads`. */
interface ClusterReadsOptions {
  /** Requests for each number of gateways. */
  readonly requests: number
  readonly reportProgress: ReportProgress
}

/** CPU time of all processes of each kind, in seconds. */
interface CpuTime {
  readonly gateways: number
  readonly standbys: number
  readonly leader: number
}

/** CPU time and duration of the requests to a number of gateways. */
interface ReadMeasurement extends CpuTime {
  readonly gatewayCount: number
  readonly wallSeconds: number
}

/**
 * Sends uncached requests to 1, 2 and 3 gateways of a cluster, and measures the CPU time per request on the gateways,
 * the standbys that they read from, and the leader.
 */
export async function clusterReads({ requests, reportProgress }: ClusterReadsOptions): Promise<ProgramResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cluster-feed-'))
  const feed = path.join(folder, 'feed.ndjson')
  const facts = failoverFacts(points)
  await writeFile(feed, feedText(facts))
  reportProgress('starting the cluster')
  const running = await startCluster({ feed, leaseSeconds: 20, env: { CACHE_MEGABYTES: '0' } })
  const commitWatcher = startCommitWatcher(running.url)
  try {
    await until(() => Promise.resolve(commitWatcher.appliedLines >= facts.length), timeoutSeconds, 'applying the feed')
    await commitWatcher.stop()
    // Warm-up: connections, prepared statements and compiled code.
    await measure(running, 3, requests)
    await wait(statisticsMilliseconds)
    const before = await leaderScans(running)
    const readMeasurements: ReadMeasurement[] = []
    for (const gateways of [1, 2, 3]) {
      reportProgress(`${gateways} gateways`)
      readMeasurements.push(await measure(running, gateways, requests))
    }
    await wait(statisticsMilliseconds)
    const scans = (await leaderScans(running)) - before
    return toResult(readMeasurements, requests, scans)
  } finally {
    await commitWatcher.stop()
    await running.down()
    await rm(folder, { recursive: true })
  }
}

/** Sends requests to some of the gateways, and measures CPU time and duration. */
async function measure(running: Cluster, gateways: number, requests: number): Promise<ReadMeasurement> {
  const clients = running.gatewayPorts.slice(0, gateways).map((port) => createClient(port, connections))
  const before = await readCpuTime(running)
  const started = performance.now()
  let remaining = requests
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: connections }, async () => {
        while (remaining > 0) await sendRead(client, remaining--)
      }),
    ),
  )
  const wallSeconds = (performance.now() - started) / 1_000
  const after = await readCpuTime(running)
  for (const client of clients) client.close()
  return {
    gatewayCount: gateways,
    wallSeconds,
    gateways: after.gateways - before.gateways,
    standbys: after.standbys - before.standbys,
    leader: after.leader - before.leader,
  }
}

/** Sends one request for a snapshot or a series; throws if the status is not 200. */
async function sendRead(client: Client, number: number): Promise<void> {
  const vault = failoverVaults[number % failoverVaults.length] ?? ''
  const target = number % 2 === 0 ? `/vault/${vault}/snapshot` : `/vault/${vault}/equity?points=${50 + (number % 50)}`
  const { status, body } = await client.send({ method: 'GET', target })
  if (status !== 200) throw new Error(`${target}: status ${status} ${body}`)
}

/** Reads the CPU time that all processes have used until now. */
async function readCpuTime(running: Cluster): Promise<CpuTime> {
  const leader = await running.leader()
  const servers = await Promise.all(memberNames.map((member) => running.serverId(member)))
  const times = servers.map((id) => processorSeconds(id, 'with children'))
  const ofLeader = times[memberNames.findIndex((member) => member === leader)] ?? NaN
  return {
    gateways: running.gatewayIds.reduce((sum, id) => sum + processorSeconds(id, 'alone'), 0),
    standbys: times.reduce((sum, time) => sum + time, 0) - ofLeader,
    leader: ofLeader,
  }
}

/** Returns the number of scans of the vaults' tables on the leader, by its statistics. */
async function leaderScans(running: Cluster): Promise<number> {
  const leader = await running.leader()
  if (leader === null) throw new Error('No server is the leader')
  const client = new pg.Client({ connectionString: running.serverUrl(leader) })
  await client.connect()
  try {
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query<{ scans: number }>(
      `select sum(coalesce(idx_scan, 0) + seq_scan)::int as scans from pg_stat_user_tables
        where relname in ('vault', 'vault_position', 'equity_point', 'equity_page', 'ledger_row')`,
    )
    return rows[0]?.scans ?? NaN
  } finally {
    await client.end()
  }
}

function toResult(readMeasurements: readonly ReadMeasurement[], requests: number, scans: number): ProgramResult {
  const measurements: Record<string, string | number> = { 'requests each': requests }
  for (const { gatewayCount, wallSeconds, gateways, standbys, leader } of readMeasurements) {
    const milliseconds = [gateways, standbys, leader].map((seconds) => ((seconds / requests) * 1_000).toFixed(3))
    const secondsPerRequest = Math.max(gateways, standbys) / requests
    measurements[`${gatewayCount}: CPU ms per request on gateways, standbys, leader`] = milliseconds.join(', ')
    measurements[`${gatewayCount}: requests per second on this machine`] = Math.round(requests / wallSeconds)
    measurements[`${gatewayCount}: requests per second with a core for each gateway and standby`] = Math.round(
      gatewayCount / secondsPerRequest,
    )
  }
  measurements['scans of tables on the leader'] = scans
  return { measurements, violations: scans === 0 ? [] : [`${scans} scans of tables on the leader`] }
}
