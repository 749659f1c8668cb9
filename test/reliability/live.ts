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
import { flawsOf, type Truth } from './live/check.ts'
import { type Follower, rowText, startFollower } from './live/follower.ts'
import { type Servers, startServers } from './servers.ts'
import type { Finding, Say } from './show.ts'

const vaults = Array.from({ length: 6 }, (_, index) => addressOf(index + 1))

interface LiveOptions {
  readonly clients: number
  readonly gatewayKills: number
  readonly databaseKills: number
  readonly failovers: number
  /** Mean time between two cuts of a client, in milliseconds. */
  readonly cutMilliseconds: number
  readonly say: Say
}

const gateways = 2
const patienceSeconds = 60

/**
 * Kills gateways and databases under clients that follow ledgers, and cuts the clients at random; in the end, compares the
 * rows of each client with the ledger.
 */
export async function live(options: LiveOptions): Promise<Finding> {
  const folder = await mkdtemp(path.join(tmpdir(), 'live-'))
  const servers = await startServers()
  const running = new Set<GatewayProcess>()
  try {
    return await followed(options, servers, path.join(folder, 'feed.ndjson'), running)
  } finally {
    for (const gateway of running) await gateway.kill()
    await servers.remove()
    await rm(folder, { recursive: true })
  }
}

async function followed(
  options: LiveOptions,
  servers: Servers,
  feed: string,
  running: Set<GatewayProcess>,
): Promise<Finding> {
  const url = await servers.createDatabase()
  await (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()
  const start = async (args: readonly string[], port = 0): Promise<GatewayProcess> => {
    const gateway = await startGateway(args, { DATABASE_URL: url, PORT: String(port) })
    running.add(gateway)
    void gateway.ended.then(() => running.delete(gateway))
    return gateway
  }
  const writing = await startWriter(feed)
  await start(['--feed', feed])
  const serving: GatewayProcess[] = []
  while (serving.length < gateways) serving.push(await start([]))
  while ((await servers.linesOf(url)) < writing.firstLines) await wait(50)
  const followers = Array.from({ length: options.clients }, (_, at) => followerOf(at, serving, options))
  const lostLines = await disturb(options, servers, url, serving, start)
  const lines = await writing.stop()
  options.say('waiting for the end of the feed')
  while ((await servers.linesOf(url)) < lines) await wait(50)
  for (const follower of followers) follower.settle()
  const truth = await truthIn(url)
  const flaws = await settledFlaws(followers, truth)
  await Promise.all(followers.map((follower) => follower.stop()))
  const sum = (of: (follower: Follower) => number): number => followers.reduce((all, each) => all + of(each), 0)
  const figures = {
    clients: options.clients,
    'connections of clients': sum(({ statuses }) => statuses.get(200) ?? 0),
    'connections refused': sum(({ statuses }) => (statuses.get(0) ?? 0) + (statuses.get(503) ?? 0)),
    'gateways killed': options.gatewayKills,
    'databases killed': options.databaseKills,
    failovers: options.failovers,
    'lines that failovers lost': lostLines,
    'ledger rows': truth.rows.length,
    'rows that clients received': sum(({ segments }) => segments.reduce((all, { rows }) => all + rows.length, 0)),
    'resets that clients received': sum(({ segments }) => segments.length - 1),
    'clients with a flaw': flaws.length,
  }
  const isShown = options.failovers === 0 || (lostLines > 0 && figures['resets that clients received'] > 0)
  return { figures, flaws: [...flaws, ...(isShown ? [] : ['no failover lost a row that a client had'])] }
}

function followerOf(at: number, serving: readonly GatewayProcess[], { cutMilliseconds }: LiveOptions): Follower {
  const vault = vaults[at % vaults.length] ?? ''
  const ways = [
    { vaults: null, type: null },
    { vaults: [vault], type: null },
    { vaults: null, type: 'harvest' },
    { vaults: vaults.slice(0, 3), type: 'plant' },
  ] as const
  return startFollower({
    wanted: ways[at % ways.length] ?? ways[0],
    isGraphql: at % 3 === 0,
    ports: serving.map(({ port }) => port),
    localAddress: process.platform === 'linux' ? `127.2.0.${(at % 250) + 1}` : '127.0.0.1',
    cutMilliseconds,
  })
}

/**
 * Kills what the options say, one after the other.
 * @returns the lines of the feed that failovers lost
 */
async function disturb(
  { gatewayKills, databaseKills, failovers, say }: LiveOptions,
  servers: Servers,
  url: string,
  serving: GatewayProcess[],
  start: (args: readonly string[], port: number) => Promise<GatewayProcess>,
): Promise<number> {
  const rounds = Math.max(gatewayKills, databaseKills, failovers)
  const isDue = (count: number, round: number): boolean =>
    Math.floor(((round + 1) * count) / rounds) > Math.floor((round * count) / rounds)
  let lost = 0
  for (let round = 0; round < rounds; round++) {
    say(`${round + 1} of ${rounds}`)
    await wait(300 + 700 * Math.random())
    if (isDue(gatewayKills, round)) {
      const at = round % serving.length
      const { port = 0 } = serving[at] ?? {}
      await serving[at]?.kill()
      await wait(500 * Math.random())
      serving[at] = await start([], port)
    }
    if (isDue(databaseKills, round)) await servers.restart()
    if (isDue(failovers, round)) lost += await failOver(servers, url)
  }
  await wait(1_000)
  return lost
}

/** Fails over to a standby that lacks what was committed in the last second or more. */
async function failOver(servers: Servers, url: string): Promise<number> {
  const grown = async (): Promise<void> => {
    const before = await servers.linesOf(url)
    while ((await servers.linesOf(url)) === before) await wait(50)
  }
  await grown()
  servers.holdReplication()
  // Once for what was sent to the standby at that time.
  await grown()
  await grown()
  await wait(1_000)
  return servers.failOver(url, () => Promise.resolve())
}

/** Writes a feed line by line until it is stopped: rows of all vaults, several of them at once, and marks. */
async function startWriter(feed: string) {
  const begin: FactInput[] = [strategy('one'), ...vaults.map((vault) => opened(vault, 'one'))]
  begin.push(...vaults.map((vault) => deposit(vault, midnight + 1, '1000')))
  await writeFile(feed, feedText(begin))
  const state = { isStopped: false, lines: begin.length }
  const written = (async () => {
    for (let ts = midnight + 60; !state.isStopped;) {
      const facts = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () => factAt(ts++))
      await appendFile(feed, feedText(facts))
      state.lines += facts.length
      await wait(40)
    }
  })()
  return {
    firstLines: begin.length,
    /** @returns the number of lines */
    async stop(): Promise<number> {
      state.isStopped = true
      await written
      return state.lines
    },
  }
}

function factAt(ts: number): FactInput {
  const vault = vaults[Math.floor(Math.random() * vaults.length)] ?? ''
  const kind = Math.random()
  if (kind < 0.2) return mark(vault, ts, (1_000 + Math.random() * 100).toFixed(2))
  if (kind < 0.6) return event(vault, ts, { type: 'plant', positionId: 'p' })
  return event(vault, ts, { type: 'harvest', positionId: 'p', amountUsd: '1.5' })
}

const truthSql = `select vault.address as vault, lower(type::text) as type, version, '0x' || encode(tx_hash, 'hex') as "txHash",
    log_index as "logIndex",
    row_number() over (partition by seq order by ledger_row.block, log_index, tx_hash, vault.address)::int as place
  from ledger_row join vault on vault.id = vault_id
    join commit_log on split_part(version, '.', 2)::bigint = commit_nonce
  order by seq, place`

async function truthIn(url: string): Promise<Truth> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Truth['rows'][number] & { txHash: string; logIndex: number }>(truthSql)
    const { rows: commits } = await client.query<{ version: string }>('select version from commit_log')
    return {
      rows: rows.map((row) => ({ ...row, row: rowText(row.vault, row) })),
      versions: new Set(commits.map(({ version }) => version)),
    }
  } finally {
    await client.end()
  }
}

/** Waits until no client misses a row, and returns the flaws that are left. */
async function settledFlaws(followers: readonly Follower[], truth: Truth): Promise<string[]> {
  const until = performance.now() + patienceSeconds * 1000
  for (;;) {
    const flaws = followers.flatMap((follower, at) => {
      const [first] = flawsOf(follower, truth)
      return first === undefined ? [] : [`client ${at}: ${first}`]
    })
    if (flaws.length === 0 || performance.now() > until) return flaws
    await wait(200)
  }
}
