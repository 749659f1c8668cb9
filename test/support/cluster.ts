import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

const script = path.resolve(import.meta.dirname, '../cluster/cluster.sh')
const programs = ['/usr/bin/patroni', '/usr/bin/etcd', '/usr/bin/etcdctl', '/usr/sbin/haproxy']

/** Reason to skip tests that need a cluster; null if its programs are installed. */
export const noCluster: string | null = programs.every((program) => existsSync(program))
  ? null
  : 'Patroni, etcd or HAProxy is missing: apt-get install --no-install-recommends patroni etcd-server etcd-client haproxy'

export const memberNames = ['a', 'b', 'c'] as const
export type Member = (typeof memberNames)[number]

/** Ways in which a cluster loses its leader. After a crash or a switchover the server restarts by itself. */
export const losses = ['kill', 'crash', 'switchover'] as const
export type Loss = (typeof losses)[number]

export interface ClusterOptions {
  /** Feed file that the third gateway follows. */
  readonly feed: string
  /** Patroni's `ttl`: seconds without a leader until another one is elected. */
  readonly leaseSeconds: number
  /** Additional environment variables of the gateways. */
  readonly env?: Readonly<Record<string, string>>
}

/** A running cluster of `test/cluster/cluster.sh`: three PostgreSQL servers with Patroni, and three gateways. */
export interface Cluster {
  /** Ports of the gateways; the last one follows the feed. */
  readonly gatewayPorts: readonly number[]
  /** Process ids of the gateways. */
  readonly gatewayIds: readonly number[]
  /** Port on which HAProxy balances the gateways. */
  readonly frontPort: number
  /** Ports of the metrics of Patroni, HAProxy and etcd. */
  readonly metricsPorts: readonly number[]
  /** Address of the database for gateways, which HAProxy connects to the leader. */
  readonly url: string
  /** Returns the direct address of a server, for the superuser. */
  serverUrl(member: Member): string
  /** Returns the process id of a server. */
  serverId(member: Member): Promise<number>
  /** Returns the leader; null if there is none. */
  leader(): Promise<Member | null>
  /** Returns whether there is a leader and two running replicas, one of them synchronous. */
  isWhole(): Promise<boolean>
  /** Makes a server fail in one of these ways. */
  lose(member: Member, loss: Loss): Promise<void>
  /** Starts a server that was killed. */
  start(member: Member): Promise<void>
  /** Returns the log of a gateway, by its number from 1 to 3. */
  logOf(gateway: number): Promise<string>
  /** Stops all processes, and removes the files. */
  down(): Promise<void>
}

/** Starts a cluster in a new temporary folder. */
export async function startCluster({ feed, leaseSeconds, env: more = {} }: ClusterOptions): Promise<Cluster> {
  const parent = await mkdtemp(path.join(tmpdir(), 'cluster-'))
  // The user postgres needs access to the folders in it.
  await chmod(parent, 0o711)
  const folder = path.join(parent, 'run')
  const gatewayEnv = Object.entries({ LOG_LEVEL: 'warn', ...more }).map(([name, value]) => `${name}=${value}`)
  const env = { ...process.env, TTL: String(leaseSeconds), GATEWAY_ENV: gatewayEnv.join(' ') }
  // Stops the cluster also if this process exits early.
  const downWithThis = (): void => void execFileSync(script, ['down', folder], { stdio: 'ignore' })
  process.once('exit', downWithThis)
  const command = async (...args: string[]): Promise<void> => {
    await promisify(execFile)(script, [args[0] ?? '', folder, ...args.slice(1)], { env })
  }
  try {
    await command('up', feed)
  } catch (error) {
    process.off('exit', downWithThis)
    await rm(parent, { recursive: true })
    throw error
  }
  const set = variables(await readFile(path.join(folder, 'cluster.env'), 'utf8'))
  const variable = (name: string): string => set.get(name) ?? ''
  const apiPort = (member: Member): number => Number(variable(`API_PORT_${member}`))
  const id = async (file: string): Promise<number> => Number.parseInt(await readFile(path.join(folder, file), 'utf8'))
  const numbers = [1, 2, 3]
  return {
    gatewayPorts: numbers.map((number) => Number(variable(`GATEWAY_PORT_${number}`))),
    gatewayIds: await Promise.all(numbers.map((number) => id(`pids/gateway-${number}`))),
    frontPort: Number(variable('FRONT_PORT')),
    metricsPorts: [apiPort('a'), Number(variable('HAPROXY_METRICS_PORT')), Number(variable('ETCD_PORT_a'))],
    url: variable('DATABASE_URL'),
    serverUrl: (member) => `postgres://postgres:${variable('PASSWORD')}@127.0.0.1:${variable(`PORT_${member}`)}/vaults`,
    serverId: (member) => id(`${member}/data/postmaster.pid`),
    async leader() {
      const leads = await Promise.all(memberNames.map((member) => isOk(`${local(apiPort(member))}/primary`)))
      return memberNames[leads.indexOf(true)] ?? null
    },
    isWhole: async () => {
      const reports = await Promise.all(memberNames.map((member) => rolesBy(apiPort(member))))
      return reports.every((roles) => roles === 'leader,replica,sync_standby')
    },
    lose: (member, loss) => command(loss, member),
    start: (member) => command('start', member),
    logOf: (gateway) => readFile(path.join(folder, `log/gateway-${gateway}.log`), 'utf8'),
    async down() {
      process.off('exit', downWithThis)
      await command('down')
      await rm(parent, { recursive: true })
    },
  }
}

/**
 * Polls a condition every 100 ms until it is true.
 * @param subject name of the condition, for the message
 * @throws {Error} after the given number of seconds
 */
export async function until(condition: () => Promise<boolean>, seconds: number, subject: string): Promise<void> {
  const end = performance.now() + seconds * 1_000
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${subject}: timeout after ${seconds} s`)
    await wait(100)
  }
}

/** Parses a shell file of assignments, separated by white space. */
function variables(text: string): Map<string, string> {
  return new Map(
    text.split(/\s+/).flatMap((pair): [string, string][] => {
      const at = pair.indexOf('=')
      return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : []
    }),
  )
}

const local = (port: number): string => `http://127.0.0.1:${port}`

/** Returns whether a GET request succeeds. */
async function isOk(address: string): Promise<boolean> {
  return (await get(address))?.ok === true
}

/** Returns the sorted roles of all running servers, as Patroni's API on a port reports them; null without a response. */
async function rolesBy(port: number): Promise<string | null> {
  const response = await get(`${local(port)}/cluster`)
  if (response === null) return null
  const { members } = (await response.json()) as { members: { role: string; state: string }[] }
  const running = members.filter(({ state }) => state === 'running' || state === 'streaming')
  return running
    .map(({ role }) => role)
    .sort()
    .join()
}

/** Sends a GET request; null if there is no response in 2 s. */
async function get(address: string): Promise<Response | null> {
  return fetch(address, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
}
