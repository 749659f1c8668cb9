import { setTimeout as wait } from 'node:timers/promises'
import { startSubscribers, type SubscriberProcess } from '../bench/live/subscriber-process.ts'
import type { Homes } from '../support/home.ts'
import { type HonestClients, type LatencySamples, startHonestClients } from './attacks/honest-clients.ts'
import { errorLogLines, type GatewayProcess, startGateway } from './gateway.ts'
import { type ProgramResult, quantile, type ReportProgress } from './program-result.ts'
import { createStreamAttacker } from './streams/attacker.ts'
import { type StreamAttack, streamAttacks } from './streams/attacks.ts'
import { createStreamWorld, type StreamWorld } from './streams/world.ts'

/** Limits on the effects of an attack. */
export interface StreamLimits {
  /** Maximum response time of /health, in milliseconds. */
  readonly health: number
  /** 99th percentile of the response times of snapshots, in milliseconds. */
  readonly snapshots: number
  /** 99th percentile of the time from a commit to its event on honest streams, in milliseconds. */
  readonly pushes: number
  /** Increase of the process's memory during the attack, in bytes. */
  readonly memory: number
}

/** Options of the program `streams`. */
interface StreamsOptions {
  readonly homes: Homes
  /** Number of attacker addresses; each attack is run from one address, and from all. */
  readonly addresses: number
  /** Duration of each attack. */
  readonly seconds: number
  /** Ledger rows that exist before the attacks. */
  readonly ledgerRows: number
  /** Selects the attacks whose names contain one of these; all by default. */
  readonly only?: readonly string[] | undefined
  readonly limits: StreamLimits
  readonly reportProgress: ReportProgress
}

const honestStreams = 40
const commitMilliseconds = 100

/** Attacks a gateway by streams, while data changes, and measures honest clients, honest streams and memory. */
export async function streams(options: StreamsOptions): Promise<ProgramResult> {
  const home = await options.homes.create()
  const database = await home.open()
  try {
    const world = await createStreamWorld(database, options.ledgerRows)
    const measurements: Record<string, string> = {}
    const violations: string[] = []
    const selected = streamAttacks.filter(({ name }) => options.only?.some((each) => name.includes(each)) ?? true)
    const runs = selected.flatMap((attack) => [1, options.addresses].map((addresses) => ({ attack, addresses })))
    for (const { attack, addresses } of runs) {
      const name = `${attack.name}, from ${addresses}`
      const gateway = await startGateway([], { CACHE_MEGABYTES: '4', LOG_LEVEL: 'warn', ...home.env })
      try {
        const result = await runAttack(options, attack, addresses, gateway, world)
        measurements[name] = result.measurements
        options.reportProgress(`${name}: ${result.measurements}`)
        violations.push(...result.violations.map((violation) => `${name}: ${violation}`))
      } finally {
        await gateway.kill()
        const logLines = errorLogLines(await gateway.ended)
        violations.push(
          ...logLines.slice(0, 1).map((first) => `${name}: ${logLines.length} log lines, such as ${first}`),
        )
      }
    }
    return { measurements, violations }
  } finally {
    await database.close()
  }
}

/** Commits at intervals until stopped; records the time of each commit by its value. */
function startCommits(world: StreamWorld) {
  const committed = new Map<number, number>()
  const state = { isOver: false }
  const running = (async () => {
    while (!state.isOver) {
      const value = await world.commit()
      committed.set(value, Number(process.hrtime.bigint()) / 1e6)
      await wait(commitMilliseconds)
    }
  })()
  return {
    committed,
    async stop() {
      state.isOver = true
      await running
    },
  }
}

/** Runs an attack on a gateway with honest streams, and returns its measurements. */
async function runAttack(
  options: StreamsOptions,
  attack: StreamAttack,
  addresses: number,
  gateway: GatewayProcess,
  world: StreamWorld,
) {
  const honestClients = startHonestClients(gateway.port, world.honest)
  const clients = startSubscribers()
  const commits = startCommits(world)
  try {
    await clients.open(
      gateway.port,
      world.honest.map((vault) => `/live/vaults?vault=${vault}`),
      honestStreams,
    )
    await wait(1_500)
    const before = (await gateway.read()).rssBytes
    await clients.take()
    const { samples, statuses, during } = await attackAndMeasure(
      options,
      attack,
      addresses,
      gateway,
      honestClients,
      world,
    )
    const pushes = await pushTimes(clients, commits.committed)
    await wait(1_000)
    const after = await gateway.read()
    return toAttackResult(options.limits, {
      samples,
      statuses,
      pushes,
      growth: during - before,
      remaining: after.rssBytes - before,
    })
  } finally {
    await commits.stop()
    clients.end()
    honestClients.close()
  }
}

/** Returns the milliseconds from each commit to its events on honest streams. */
async function pushTimes(clients: SubscriberProcess, committed: ReadonlyMap<number, number>): Promise<number[]> {
  return (await clients.take()).flatMap(([value, at]) => {
    const committedAt = committed.get(value)
    return committedAt === undefined ? [] : [at - committedAt]
  })
}

/** Runs the attackers for the duration of an attack, and samples honest clients and memory. */
async function attackAndMeasure(
  { seconds, addresses: maxAddresses }: StreamsOptions,
  attack: StreamAttack,
  addresses: number,
  gateway: GatewayProcess,
  honestClients: HonestClients,
  { oldest, vaults }: StreamWorld,
) {
  const ended = wait(seconds * 1000)
  const statuses = new Map<string, number>()
  const state = { isOver: false }
  const attackers = Array.from({ length: Math.min(addresses, maxAddresses) }, (_, at) => {
    const localAddress = process.platform === 'linux' ? `127.3.${at >> 7}.${(at & 127) + 1}` : '127.0.0.1'
    return createStreamAttacker({ port: gateway.port, localAddress, vaults, oldest, ended, statuses })
  })
  honestClients.begin()
  const attackRuns = attackers.map(async (attacker) => {
    while (!state.isOver) {
      await attack.run(attacker)
      await wait(1)
    }
  })
  await ended
  state.isOver = true
  const during = await gateway.read()
  const samples = await honestClients.end()
  for (const attacker of attackers) attacker.close()
  await Promise.all(attackRuns)
  return { samples, statuses, during: during.rssBytes }
}

/** Measurements of an attack. */
interface StreamAttackOutcome {
  readonly samples: LatencySamples
  readonly statuses: ReadonlyMap<string, number>
  readonly pushes: readonly number[]
  /** Increase of memory during the attack, and what remains of it afterwards, in bytes. */
  readonly growth: number
  readonly remaining: number
}

/** Compares the measurements of an attack with the limits. */
function toAttackResult(limits: StreamLimits, { samples, statuses, pushes, growth, remaining }: StreamAttackOutcome) {
  const values = {
    health: Math.max(...samples.health),
    snapshots: quantile(samples.snapshots, 0.99),
    pushes: quantile(pushes, 0.99),
    memory: growth,
  }
  const units = { health: 1, snapshots: 1, pushes: 1, memory: 1e6 }
  const exceeded = (Object.keys(values) as (keyof StreamLimits)[]).filter((name) => !(values[name] <= limits[name]))
  const counts = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')
  const formatMeasurement = (name: keyof StreamLimits): string => (values[name] / units[name]).toFixed(0)
  return {
    measurements: `health ${formatMeasurement('health')} ms, snapshots p99 ${formatMeasurement('snapshots')} ms, ${pushes.length} pushes p99 ${formatMeasurement('pushes')} ms, +${formatMeasurement('memory')} MB, afterwards +${(remaining / 1e6).toFixed(0)} MB (${counts})`,
    violations: [
      ...exceeded.map((name) => `${name} ${formatMeasurement(name)}, limit ${limits[name] / units[name]}`),
      ...(samples.failed > 0 ? [`${samples.failed} honest requests failed`] : []),
    ],
  }
}
