import { setTimeout as wait } from 'node:timers/promises'
import { startSubscribers, type SubscriberProcess } from '../bench/live/subscriber-process.ts'
import type { Homes } from '../support/home.ts'
import { type Samples, startWitness, type Witness } from './attacks/witness.ts'
import { failuresIn, type GatewayProcess, startGateway } from './gateway.ts'
import { type Finding, quantile, type Say } from './show.ts'
import { createStreamAttacker } from './streams/attacker.ts'
import { type StreamAttack, streamAttacks } from './streams/attacks.ts'
import { createWorld, type StreamWorld } from './streams/world.ts'

/** Limits on the effects of an attack. */
export interface StreamBounds {
  /** Slowest answer of /health, 99th percentiles of snapshots and of pushes to honest streams, in milliseconds. */
  readonly health: number
  readonly snapshots: number
  readonly pushes: number
  /** Memory of the process while the attack lasts, above what it was before, in bytes. */
  readonly memory: number
}

interface StreamsOptions {
  readonly homes: Homes
  /** Addresses of the attackers: each attack is carried out by one, and by so many. */
  readonly addresses: number
  /** How long each attack lasts. */
  readonly seconds: number
  /** Ledger rows that were there before. */
  readonly ledgerRows: number
  /** Attacks whose names contain one of these; all of them unless some are named. */
  readonly only?: readonly string[] | undefined
  readonly bounds: StreamBounds
  readonly say: Say
}

const honestStreams = 40
const commitMilliseconds = 100

/** Attacks a gateway by its streams, while data changes and honest clients follow it. */
export async function streams(options: StreamsOptions): Promise<Finding> {
  const home = await options.homes.create()
  const database = await home.open()
  try {
    const world = await createWorld(database, options.ledgerRows)
    const figures: Record<string, string> = {}
    const flaws: string[] = []
    const chosen = streamAttacks.filter(({ name }) => options.only?.some((each) => name.includes(each)) ?? true)
    const runs = chosen.flatMap((attack) => [1, options.addresses].map((addresses) => ({ attack, addresses })))
    for (const { attack, addresses } of runs) {
      const name = `${attack.name}, from ${addresses}`
      const gateway = await startGateway([], { CACHE_MEGABYTES: '4', LOG_LEVEL: 'warn', ...home.env })
      try {
        const result = await attackedOnce(options, attack, addresses, gateway, world)
        figures[name] = result.figures
        options.say(`${name}: ${result.figures}`)
        flaws.push(...result.flaws.map((flaw) => `${name}: ${flaw}`))
      } finally {
        await gateway.kill()
        const failures = failuresIn(await gateway.ended)
        flaws.push(...failures.slice(0, 1).map((first) => `${name}: the log has ${failures.length} lines: ${first}`))
      }
    }
    return { figures, flaws }
  } finally {
    await database.close()
  }
}

/** Commits again and again. */
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

async function attackedOnce(
  options: StreamsOptions,
  attack: StreamAttack,
  addresses: number,
  gateway: GatewayProcess,
  world: StreamWorld,
) {
  const witness = startWitness(gateway.port, world.honest)
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
    const { samples, statuses, during } = await underAttack(options, attack, addresses, gateway, witness, world)
    const pushes = await pushTimes(clients, commits.committed)
    await wait(1_000)
    const after = await gateway.read()
    return resultOf(options.bounds, {
      samples,
      statuses,
      pushes,
      grown: during - before,
      left: after.rssBytes - before,
    })
  } finally {
    await commits.stop()
    clients.end()
    witness.close()
  }
}

async function pushTimes(clients: SubscriberProcess, committed: ReadonlyMap<number, number>): Promise<number[]> {
  return (await clients.take()).flatMap(([value, at]) => {
    const committedAt = committed.get(value)
    return committedAt === undefined ? [] : [at - committedAt]
  })
}

async function underAttack(
  { seconds, addresses: most }: StreamsOptions,
  attack: StreamAttack,
  addresses: number,
  gateway: GatewayProcess,
  witness: Witness,
  { oldest, vaults }: StreamWorld,
) {
  const over = wait(seconds * 1000)
  const statuses = new Map<string, number>()
  const state = { isOver: false }
  const attackers = Array.from({ length: Math.min(addresses, most) }, (_, at) => {
    const localAddress = process.platform === 'linux' ? `127.3.${at >> 7}.${(at & 127) + 1}` : '127.0.0.1'
    return createStreamAttacker({ port: gateway.port, localAddress, vaults, oldest, over, statuses })
  })
  witness.begin()
  const carried = attackers.map(async (attacker) => {
    while (!state.isOver) {
      await attack.carryOut(attacker)
      await wait(1)
    }
  })
  await over
  state.isOver = true
  const during = await gateway.read()
  const samples = await witness.end()
  for (const attacker of attackers) attacker.close()
  await Promise.all(carried)
  return { samples, statuses, during: during.rssBytes }
}

interface Outcome {
  readonly samples: Samples
  readonly statuses: ReadonlyMap<string, number>
  readonly pushes: readonly number[]
  readonly grown: number
  readonly left: number
}

function resultOf(bounds: StreamBounds, { samples, statuses, pushes, grown, left }: Outcome) {
  const measured = {
    health: Math.max(...samples.health),
    snapshots: quantile(samples.snapshots, 0.99),
    pushes: quantile(pushes, 0.99),
    memory: grown,
  }
  const units = { health: 1, snapshots: 1, pushes: 1, memory: 1e6 }
  const over = (Object.keys(measured) as (keyof StreamBounds)[]).filter((name) => !(measured[name] <= bounds[name]))
  const counts = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')
  const inWords = (name: keyof StreamBounds): string => (measured[name] / units[name]).toFixed(0)
  return {
    figures: `health ${inWords('health')} ms, snapshots p99 ${inWords('snapshots')} ms, ${pushes.length} pushes p99 ${inWords('pushes')} ms, +${inWords('memory')} MB, afterwards +${(left / 1e6).toFixed(0)} MB (${counts})`,
    flaws: [
      ...over.map((name) => `${name} ${inWords(name)}, more than ${bounds[name] / units[name]}`),
      ...(samples.failed > 0 ? [`${samples.failed} honest requests failed`] : []),
    ],
  }
}
