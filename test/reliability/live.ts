import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../../src/database/open.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { feedText } from '../support/feeds.ts'
import { addressOf, deposit, event, mark, midnight, opened, strategy } from '../support/world.ts'
import { type GatewayProcess, startGateway } from './gateway.ts'
import { type Follower, rowKey, startFollower } from './live/follower.ts'
import { type LedgerHistory, ledgerViolations, orderOf } from './live/ledger-check.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { type ReplicatedServers, startReplicatedServers } from './replicated-servers.ts'

const vaults = Array.from({ length: 6 }, (_, index) => addressOf(index + 1))

/** Options of the program `live`. */
interface LiveOptions {
  readonly clients: number
  readonly gatewayKills: number
  readonly databaseKills: number
  readonly failovers: number
  /** Mean time after which the connection of a client is cut. */
  readonly cutMilliseconds: number
  readonly reportProgress: ReportProgress
}

/** Number of gateways that serve clients, besides the one that follows the feed. */
const gatewayCount = 2
/** How long clients may receive no row, while they lack some. */
const timeoutSeconds = 60

/**
 * Kills gateways and databases while clients follow ledgers and their connections are cut at random; at the end,
 * compares the rows that each client received with the ledger.
 */
export async function live(options: LiveOptions): Promise<ProgramResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'live-'))
  const servers = await startReplicatedServers()
  const running = new Set<GatewayProcess>()
  try {
    return await runWithKills(options, servers, path.join(folder, 'feed.ndjson'), running)
  } finally {
    for (const gateway of running) await gateway.kill()
    await servers.remove()
    await rm(folder, { recursive: true })
  }
}

/** Starts gateways, clients and a feed, runs the kills, and returns the violations of all clients. */
async function runWithKills(
  options: LiveOptions,
  servers: ReplicatedServers,
  feed: string,
  running: Set<GatewayProcess>,
): Promise<ProgramResult> {
  const url = await servers.createDatabase()
  await (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()
  const start = async (args: readonly string[], port = 0): Promise<GatewayProcess> => {
    const gateway = await startGateway(args, { DATABASE_URL: url, PORT: String(port) })
    running.add(gateway)
    void gateway.ended.then(() => running.delete(gateway))
    return gateway
  }
  const feedWriter = await startFeedWriter(feed)
  await start(['--feed', feed])
  const servingGateways: GatewayProcess[] = []
  while (servingGateways.length < gatewayCount) servingGateways.push(await start([]))
  while ((await servers.appliedLines(url)) < feedWriter.initialLines) await wait(50)
  const followers = Array.from({ length: options.clients }, (_, at) =>
    startNumberedFollower(at, servingGateways, options),
  )
  const lostLines = await runKills(options, servers, url, servingGateways, followers, start)
  const lines = await feedWriter.stop()
  options.reportProgress('waiting for the end of the feed')
  while ((await servers.appliedLines(url)) < lines) await wait(50)
  for (const follower of followers) follower.stopCutting()
  const ledgerHistory = await readLedgerHistory(url)
  const violations = await waitForNoViolations(followers, ledgerHistory)
  await Promise.all(followers.map((follower) => follower.stop()))
  const sum = (of: (follower: Follower) => number): number => followers.reduce((all, each) => all + of(each), 0)
  const measurements = {
    clients: options.clients,
    'connections of clients': sum(({ statuses }) => statuses.get(200) ?? 0),
    'connections refused': sum(({ statuses }) => (statuses.get(0) ?? 0) + (statuses.get(503) ?? 0)),
    'gateways killed': options.gatewayKills,
    'databases killed': options.databaseKills,
    failovers: options.failovers,
    'lines lost by failovers': lostLines,
    'ledger rows': ledgerHistory.rows.length,
    'rows that clients received': receivedRows(followers),
    'resets that clients received': sum(({ segments }) => segments.length - 1),
    'clients with violations': violations.length,
  }
  const hasReset = options.failovers === 0 || (lostLines > 0 && measurements['resets that clients received'] > 0)
  return {
    measurements,
    violations: [...violations, ...(hasReset ? [] : ['no failover lost a row that a client had received'])],
  }
}

/** Starts a client with one of several filters, over REST or GraphQL. */
function startNumberedFollower(
  at: number,
  servingGateways: readonly GatewayProcess[],
  { cutMilliseconds }: LiveOptions,
): Follower {
  const vault = vaults[at % vaults.length] ?? ''
  const filters = [
    { vaults: null, type: null },
    { vaults: [vault], type: null },
    { vaults: null, type: 'harvest' },
    { vaults: vaults.slice(0, 3), type: 'plant' },
  ] as const
  return startFollower({
    filter: filters[at % filters.length] ?? filters[0],
    isGraphql: at % 3 === 0,
    ports: servingGateways.map(({ port }) => port),
    localAddress: process.platform === 'linux' ? `127.2.0.${(at % 250) + 1}` : '127.0.0.1',
    cutMilliseconds,
  })
}

/**
 * Kills gateways and databases and fails over, as often as the options say, evenly mixed.
 * @returns the number of lines of the feed that failovers lost
 */
async function runKills(
  { gatewayKills, databaseKills, failovers, reportProgress }: LiveOptions,
  servers: ReplicatedServers,
  url: string,
  servingGateways: GatewayProcess[],
  followers: readonly Follower[],
  start: (args: readonly string[], port: number) => Promise<GatewayProcess>,
): Promise<number> {
  const steps = Math.max(gatewayKills, databaseKills, failovers)
  const isDue = (count: number, step: number): boolean =>
    Math.floor(((step + 1) * count) / steps) > Math.floor((step * count) / steps)
  let lostLines = 0
  for (let step = 0; step < steps; step++) {
    reportProgress(`${step + 1} of ${steps}`)
    await wait(300 + 700 * Math.random())
    if (isDue(gatewayKills, step)) {
      const at = step % servingGateways.length
      const { port = 0 } = servingGateways[at] ?? {}
      await servingGateways[at]?.kill()
      await wait(500 * Math.random())
      servingGateways[at] = await start([], port)
    }
    if (isDue(databaseKills, step)) await servers.restart()
    if (isDue(failovers, step)) lostLines += await failOver(servers, url, followers)
  }
  await wait(1_000)
  return lostLines
}

/** Fails over to a standby that lacks commits whose rows clients have received. */
async function failOver(servers: ReplicatedServers, url: string, followers: readonly Follower[]): Promise<number> {
  const untilFeedGrows = async (): Promise<void> => {
    const before = await servers.appliedLines(url)
    while ((await servers.appliedLines(url)) === before) await wait(50)
  }
  await untilFeedGrows()
  servers.stallReplication()
  // The first commit may already have been sent to the standby.
  await untilFeedGrows()
  await untilFeedGrows()
  const lost = await newestCommit(url)
  const received = (): number => Math.max(...followers.map(newestReceived))
  await untilHolds(received, () => received() >= lost)
  return servers.failOver(url, () => Promise.resolve())
}

/** Returns the number of the newest commit. */
async function newestCommit(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ seq: string }>('select seq from data_head')
    return Number(rows[0]?.seq ?? 0)
  } finally {
    await client.end()
  }
}

/** Returns the number of the commit of the newest row that a client has received. */
function newestReceived({ segments }: Follower): number {
  const newest = segments.at(-1)?.rows.at(-1)
  return newest === undefined ? 0 : orderOf(newest.id)[0]
}

/** Waits until a condition holds, or a measurement has not changed for `timeoutSeconds`. */
async function untilHolds(measure: () => number, holds: () => boolean): Promise<void> {
  let last = { value: measure(), at: performance.now() }
  while (!holds() && performance.now() < last.at + timeoutSeconds * 1000) {
    await wait(200)
    const value = measure()
    if (value !== last.value) last = { value, at: performance.now() }
  }
}

/** Appends random marks and ledger rows of all vaults to a feed until it is stopped. */
async function startFeedWriter(feed: string) {
  const initialFacts: FactInput[] = [strategy('one'), ...vaults.map((vault) => opened(vault, 'one'))]
  initialFacts.push(...vaults.map((vault) => deposit(vault, midnight + 1, '1000')))
  await writeFile(feed, feedText(initialFacts))
  const state = { isStopped: false, lines: initialFacts.length }
  const written = (async () => {
    for (let ts = midnight + 60; !state.isStopped;) {
      const facts = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () => randomFact(ts++))
      await appendFile(feed, feedText(facts))
      state.lines += facts.length
      await wait(40)
    }
  })()
  return {
    /** Number of lines written at the start. */
    initialLines: initialFacts.length,
    /** Stops writing, and returns the number of lines. */
    async stop(): Promise<number> {
      state.isStopped = true
      await written
      return state.lines
    },
  }
}

/** Returns a mark, or an event that becomes a ledger row. */
function randomFact(ts: number): FactInput {
  const vault = vaults[Math.floor(Math.random() * vaults.length)] ?? ''
  const kind = Math.random()
  if (kind < 0.2) return mark(vault, ts, (1_000 + Math.random() * 100).toFixed(2))
  if (kind < 0.6) return event(vault, ts, { type: 'plant', positionId: 'p' })
  return event(vault, ts, { type: 'harvest', positionId: 'p', amountUsd: '1.5' })
}

/** Ledger rows in the order in which streams send them: by commit, then by their place in it. */
const ledgerHistorySql = `select vault.address as vault, lower(type::text) as type, version, '0x' || encode(tx_hash, 'hex') as "txHash",
    log_index as "logIndex",
    row_number() over (partition by seq order by ledger_row.block, log_index, tx_hash, vault.address)::int as place
  from ledger_row join vault on vault.id = vault_id
    join commit_log on split_part(version, '.', 2)::bigint = commit_nonce
  order by seq, place`

/** Reads the ledger rows of all vaults and the commit log. */
async function readLedgerHistory(url: string): Promise<LedgerHistory> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<LedgerHistory['rows'][number] & { txHash: string; logIndex: number }>(
      ledgerHistorySql,
    )
    const { rows: commits } = await client.query<{ version: string }>('select version from commit_log')
    return {
      rows: rows.map((row) => ({ ...row, row: rowKey(row.vault, row) })),
      versions: new Set(commits.map(({ version }) => version)),
    }
  } finally {
    await client.end()
  }
}

/** Waits until no client lacks a row; returns the violations that remain when clients receive no more. */
async function waitForNoViolations(followers: readonly Follower[], ledgerHistory: LedgerHistory): Promise<string[]> {
  const violations = (): string[] =>
    followers.flatMap((follower, at) => {
      const [first] = ledgerViolations(follower, ledgerHistory)
      return first === undefined ? [] : [`client ${at}: ${first}`]
    })
  await untilHolds(
    () => receivedRows(followers),
    () => violations().length === 0,
  )
  return violations()
}

function receivedRows(followers: readonly Follower[]): number {
  return followers.reduce((all, { segments }) => segments.reduce((sum, { rows }) => sum + rows.length, all), 0)
}
