import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

const script = path.resolve(import.meta.dirname, '../cluster/cluster.sh')
const programs = ['/usr/bin/patroni', '/usr/bin/etcd', '/usr/bin/etcdctl', '/usr/sbin/haproxy']

/** Why no cluster can be brought up here; null where one can. */
export const noCluster: string | null = programs.every((program) => existsSync(program))
  ? null
  : 'Patroni, etcd or HAProxy is missing: apt-get install --no-install-recommends patroni etcd-server etcd-client haproxy'

export const memberNames = ['a', 'b', 'c'] as const
export type Member = (typeof memberNames)[number]

/** How the leader of a cluster is lost; a server that crashes or hands over comes back by itself. */
export const losses = ['kill', 'crash', 'switchover'] as const
export type Loss = (typeof losses)[number]

export interface ClusterOptions {
  /** File that the third gateway follows. */
  readonly feed: string
  /** Seconds of Patroni's lease: how long a lost leader is waited for. */
  readonly leaseSeconds: number
  /** More variables of the gateways. */
  readonly env?: Readonly<Record<string, string>>
}

/** A cluster of the script for operators: three servers with Patroni, and three gateways. */
export interface Cluster {
  /** Addresses of the gateways; the last one follows the feed. */
  readonly gatewayPorts: readonly number[]
  /** Process ids of the gateways. */
  readonly gatewayIds: readonly number[]
  /** Port of HAProxy that leads to the gateways. */
  readonly frontPort: number
  /** Ports of the metrics of Patroni, HAProxy and etcd. */
  readonly metricsPorts: readonly number[]
  /** The gateway's own address of the database, which leads to the leader. */
  readonly url: string
  /** Address of a server itself, for a superuser. */
  serverUrl(member: Member): string
  /** Process id of a server. */
  serverId(member: Member): Promise<number>
  /** The server that holds the lease; null where none does. */
  leader(): Promise<Member | null>
  /** Whether one server leads and the others follow, one synchronously. */
  isWhole(): Promise<boolean>
  lose(member: Member, loss: Loss): Promise<void>
  /** Starts a server that was killed. */
  start(member: Member): Promise<void>
  /** Log of a gateway from 1 to 3. */
  logOf(gateway: number): Promise<string>
  down(): Promise<void>
}

/** Brings a cluster up in a folder of its own. */
export async function startCluster({ feed, leaseSeconds, env: more = {} }: ClusterOptions): Promise<Cluster> {
  const parent = await mkdtemp(path.join(tmpdir(), 'cluster-'))
  // PostgreSQL's own user has to pass through it.
  await chmod(parent, 0o711)
  const folder = path.join(parent, 'run')
  const gatewayEnv = Object.entries({ LOG_LEVEL: 'warn', ...more }).map(([name, value]) => `${name}=${value}`)
  const env = { ...process.env, TTL: String(leaseSeconds), GATEWAY_ENV: gatewayEnv.join(' ') }
  // A program that ends in the middle leaves none behind.
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
  const of = (name: string): string => set.get(name) ?? ''
  const apiPort = (member: Member): number => Number(of(`API_PORT_${member}`))
  const id = async (file: string): Promise<number> => Number.parseInt(await readFile(path.join(folder, file), 'utf8'))
  const numbers = [1, 2, 3]
  return {
    gatewayPorts: numbers.map((number) => Number(of(`GATEWAY_PORT_${number}`))),
    gatewayIds: await Promise.all(numbers.map((number) => id(`pids/gateway-${number}`))),
    frontPort: Number(of('FRONT_PORT')),
    metricsPorts: [apiPort('a'), Number(of('HAPROXY_METRICS_PORT')), Number(of('ETCD_PORT_a'))],
    url: of('DATABASE_URL'),
    serverUrl: (member) => `postgres://postgres:${of('PASSWORD')}@127.0.0.1:${of(`PORT_${member}`)}/vaults`,
    serverId: (member) => id(`${member}/data/postmaster.pid`),
    async leader() {
      const leads = await Promise.all(memberNames.map((member) => isAnswered(`${local(apiPort(member))}/primary`)))
      return memberNames[leads.indexOf(true)] ?? null
    },
    isWhole: async () => {
      const found = await Promise.all(memberNames.map((member) => rolesBy(apiPort(member))))
      return found.every((roles) => roles === 'leader,replica,sync_standby')
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

/** Repeats a question until it is answered with yes. */
export async function until(isSo: () => Promise<boolean>, seconds: number, subject: string): Promise<void> {
  const end = performance.now() + seconds * 1_000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${subject}: not in ${seconds} s`)
    await wait(100)
  }
}

/** Variables of a file for a shell, several on a line. */
function variables(text: string): Map<string, string> {
  return new Map(
    text.split(/\s+/).flatMap((pair): [string, string][] => {
      const at = pair.indexOf('=')
      return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : []
    }),
  )
}

const local = (port: number): string => `http://127.0.0.1:${port}`

async function isAnswered(address: string): Promise<boolean> {
  return (await asked(address))?.ok === true
}

/** Roles of the servers that run, as one of them knows them. */
async function rolesBy(port: number): Promise<string | null> {
  const response = await asked(`${local(port)}/cluster`)
  if (response === null) return null
  const { members } = (await response.json()) as { members: { role: string; state: string }[] }
  const running = members.filter(({ state }) => state === 'running' || state === 'streaming')
  return running
    .map(({ role }) => role)
    .sort()
    .join()
}

async function asked(address: string): Promise<Response | null> {
  return fetch(address, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
}
