import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, memberNames, startCluster, until } from '../support/cluster.ts'
import { feedText } from '../support/feeds.ts'
import { processorSeconds } from '../support/processor-time.ts'
import { type Client, clientOf } from './client.ts'
import { watchCommits } from './commit-watch.ts'
import { failoverVaults, manyPoints } from './failover.ts'
import type { Finding, Say } from './show.ts'

const points = 20_000
const connections = 8
const patienceSeconds = 300
/** A session of PostgreSQL reports its statistics up to 10 s after its last statement, the feed's after its writes. */
const statisticsMilliseconds = 12_000

interface ClusterReadsOptions {
  /** Requests for each number of gateways. */
  readonly requests: number
  readonly say: Say
}

/** Processor time of all processes of a part, in seconds. */
interface Spent {
  readonly gateways: number
  readonly standbys: number
  readonly leader: number
}

interface Measured extends Spent {
  readonly gatewaysAsked: number
  readonly wallSeconds: number
}

/**
 * Asks 1, 2 and 3 gateways of a cluster for what no cache has, and measures the processor time that a request takes on
 * the gateways, the standbys that they read from, and the leader.
 */
export async function clusterReads({ requests, say }: ClusterReadsOptions): Promise<Finding> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cluster-feed-'))
  const feed = path.join(folder, 'feed.ndjson')
  const facts = manyPoints(points)
  await writeFile(feed, feedText(facts))
  say('Bringing the cluster up')
  const running = await startCluster({ feed, leaseSeconds: 20, env: { CACHE_MEGABYTES: '0' } })
  const watch = watchCommits(running.url)
  try {
    await until(() => Promise.resolve(watch.lines >= facts.length), patienceSeconds, 'the feed is applied')
    await watch.stop()
    // Once for connections, prepared statements and compiled code.
    await measure(running, 3, requests)
    await wait(statisticsMilliseconds)
    const before = await scansOfLeader(running)
    const measured: Measured[] = []
    for (const gateways of [1, 2, 3]) {
      say(`${gateways} gateways`)
      measured.push(await measure(running, gateways, requests))
    }
    await wait(statisticsMilliseconds)
    const scans = (await scansOfLeader(running)) - before
    return findingOf(measured, requests, scans)
  } finally {
    await watch.stop()
    await running.down()
    await rm(folder, { recursive: true })
  }
}

async function measure(running: Cluster, gateways: number, requests: number): Promise<Measured> {
  const clients = running.gatewayPorts.slice(0, gateways).map((port) => clientOf(port, connections))
  const before = await spent(running)
  const started = performance.now()
  let left = requests
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: connections }, async () => {
        while (left > 0) await ask(client, left--)
      }),
    ),
  )
  const wallSeconds = (performance.now() - started) / 1_000
  const after = await spent(running)
  for (const client of clients) client.close()
  return {
    gatewaysAsked: gateways,
    wallSeconds,
    gateways: after.gateways - before.gateways,
    standbys: after.standbys - before.standbys,
    leader: after.leader - before.leader,
  }
}

async function ask(client: Client, number: number): Promise<void> {
  const vault = failoverVaults[number % failoverVaults.length] ?? ''
  const target = number % 2 === 0 ? `/vault/${vault}/snapshot` : `/vault/${vault}/equity?points=${50 + (number % 50)}`
  const { status, body } = await client.ask({ method: 'GET', target })
  if (status !== 200) throw new Error(`${target} was answered ${status} ${body}`)
}

async function spent(running: Cluster): Promise<Spent> {
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

/** How often the tables of vaults were read on the leader. */
async function scansOfLeader(running: Cluster): Promise<number> {
  const leader = await running.leader()
  if (leader === null) throw new Error('No server leads')
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

function findingOf(measured: readonly Measured[], requests: number, scans: number): Finding {
  const figures: Record<string, string | number> = { 'requests each': requests }
  for (const { gatewaysAsked, wallSeconds, gateways, standbys, leader } of measured) {
    const each = [gateways, standbys, leader].map((seconds) => ((seconds / requests) * 1_000).toFixed(3))
    const ofOne = Math.max(gateways, standbys) / requests
    figures[`${gatewaysAsked}: ms of a processor for a request on gateways, standbys, leader`] = each.join(', ')
    figures[`${gatewaysAsked}: requests a second on this machine`] = Math.round(requests / wallSeconds)
    figures[`${gatewaysAsked}: with a core for each gateway and each of as many standbys, requests a second`] =
      Math.round(gatewaysAsked / ofOne)
  }
  figures['tables of vaults read on the leader'] = scans
  return { figures, flaws: scans === 0 ? [] : [`The leader was read from ${scans} times`] }
}
