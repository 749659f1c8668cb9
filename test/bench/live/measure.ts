import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../../src/database/database.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { type GatewayProcess, startGateway } from '../../reliability/gateway.ts'
import { startWitness } from '../../reliability/attacks/witness.ts'
import { quantile } from '../../reliability/show.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position, strategy } from '../../support/world.ts'
import { startSubscribers, type SubscriberProcess } from './subscriber-process.ts'

export interface LiveMeasureOptions {
  /** A database with all migrations and no rows. */
  readonly database: Database
  readonly url: string
  readonly subscribers: number
  readonly vaults: number
  /** Seconds without changes in which memory and CPU time are measured: two heartbeats and more. */
  readonly idleSeconds: number
  /** Changes that all subscribers receive. */
  readonly broadcasts: number
  /** Seconds of changes to one vault after the other. */
  readonly trickleSeconds: number
}

/** Figures of one gateway process; times in milliseconds. */
export interface LiveFigures {
  readonly subscribers: number
  /** Memory of the process that the open streams take, garbage collected. */
  readonly idleMegabytes: number
  /** CPU time of the open streams, as a share of a core. */
  readonly idleCpu: number
  readonly broadcast: { readonly p50: number; readonly p99: number }
  /** CPU time of the process for one event of one subscriber, in microseconds. */
  readonly deliveryMicroseconds: number
  /** Snapshots that other clients ask for, none from the response cache. */
  readonly snapshotsMeanwhile: { readonly p99: number; readonly unloadedP99: number }
  /** From the commit to the client, of changes to one vault after the other. */
  readonly trickle: { readonly p50: number; readonly p99: number }
  readonly missed: number
}

const changesPerSecond = 20
/** Time for one change to reach all subscribers. */
const broadcastMilliseconds = 1_500
const patienceMilliseconds = 20_000

/** Measures a gateway process whose streams are opened by another process. */
export async function measureLive(options: LiveMeasureOptions): Promise<LiveFigures> {
  const { database, url, subscribers, vaults } = options
  await apply(database, [strategy('one'), ...Array.from({ length: vaults }, (_, at) => beginning(at)).flat()])
  const gateway = await startGateway([], { DATABASE_URL: url })
  const clients = startSubscribers()
  try {
    const { snapshots: unloaded } = await witnessed(gateway, vaults, () => wait(2_000))
    const base = await gateway.read()
    await clients.open(gateway.port, [pathOf(0)], subscribers)
    const open = await gateway.read()
    await wait(options.idleSeconds * 1000)
    const idle = await gateway.read()
    const broadcast = await broadcasts(options, gateway, clients)
    const afterwards = await gateway.read()
    await clients.closeStreams()
    await clients.open(
      gateway.port,
      Array.from({ length: vaults }, (_, at) => pathOf(at)),
      subscribers,
    )
    const trickle = await trickles(options, clients)
    const events = options.broadcasts * subscribers
    return {
      subscribers,
      idleMegabytes: (idle.rssBytes - base.rssBytes) / 1e6,
      idleCpu: (idle.cpuSeconds - open.cpuSeconds) / options.idleSeconds,
      broadcast: percentiles(broadcast.latencies),
      deliveryMicroseconds: ((afterwards.cpuSeconds - idle.cpuSeconds) / events) * 1e6,
      snapshotsMeanwhile: { p99: quantile(broadcast.snapshots, 0.99), unloadedP99: quantile(unloaded, 0.99) },
      trickle: percentiles(trickle.latencies),
      missed: broadcast.missed + trickle.missed,
    }
  } finally {
    clients.end()
    await gateway.kill()
  }
}

function percentiles(latencies: readonly number[]): { readonly p50: number; readonly p99: number } {
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

function beginning(at: number): FactInput[] {
  const vault = addressOf(at + 1)
  return [opened(vault, 'one'), deposit(vault, midnight + 1 + at, '1000')]
}

function pathOf(at: number): string {
  return `/live/vaults?vault=${addressOf(at + 1)}`
}

async function witnessed(gateway: GatewayProcess, vaults: number, work: () => Promise<unknown>) {
  // Vaults that no stream of the broadcast follows.
  const others = Array.from({ length: Math.min(50, vaults - 1) }, (_, at) => addressOf(vaults - at))
  const witness = startWitness(gateway.port, others)
  try {
    await wait(500)
    witness.begin()
    await work()
    return await witness.end()
  } finally {
    witness.close()
  }
}

interface Latencies {
  readonly latencies: readonly number[]
  /** Events that did not come. */
  readonly missed: number
}

/** Changes one vault that all subscribers follow, again and again. */
async function broadcasts(
  { database, ...options }: LiveMeasureOptions,
  gateway: GatewayProcess,
  clients: SubscriberProcess,
) {
  const writer = new Writer(database, options.vaults)
  await clients.take()
  const { snapshots } = await witnessed(gateway, options.vaults, async () => {
    for (let count = 0; count < options.broadcasts; count++) {
      await Promise.all([writer.change(0), wait(broadcastMilliseconds)])
    }
  })
  return { ...(await writer.latencies(clients, () => options.subscribers)), snapshots }
}

/** Changes one vault after the other, at a constant rate. */
async function trickles(options: LiveMeasureOptions, clients: SubscriberProcess): Promise<Latencies> {
  const { database, vaults, subscribers } = options
  const writer = new Writer(database, vaults)
  await clients.take()
  const changes = options.trickleSeconds * changesPerSecond
  for (let count = 0; count < changes; count++) {
    await Promise.all([writer.change((count * 7) % vaults), wait(1000 / changesPerSecond)])
  }
  const followersOf = (vault: number): number =>
    Math.floor(subscribers / vaults) + (vault < subscribers % vaults ? 1 : 0)
  return writer.latencies(clients, followersOf)
}

/** Writes changes, each of which has a value of its own. */
class Writer {
  static #changes = 0
  readonly #database: Database
  readonly #vaults: number
  readonly #committed = new Map<number, { readonly at: number; readonly vault: number }>()
  #committedAt = 0

  constructor(database: Database, vaults: number) {
    this.#vaults = vaults
    this.#database = {
      ...database,
      // The latency counts from the moment when the writer itself knows that its change is committed.
      transaction: async (work) => {
        const result = await database.transaction(work)
        this.#committedAt = Number(process.hrtime.bigint()) / 1e6
        return result
      },
    }
  }

  async change(vault: number): Promise<void> {
    const valueUsd = 2_000 + ++Writer.#changes / 100
    const ts = midnight + this.#vaults + 10 + Writer.#changes
    await apply(this.#database, [mark(addressOf(vault + 1), ts, valueUsd.toFixed(2), { positions: [position('p')] })])
    this.#committed.set(Number(valueUsd.toFixed(2)), { at: this.#committedAt, vault })
  }

  /** @param followersOf number of streams that follow a vault */
  async latencies(clients: SubscriberProcess, followersOf: (vault: number) => number): Promise<Latencies> {
    const wanted = [...this.#committed.values()].reduce((sum, { vault }) => sum + followersOf(vault), 0)
    const latencies: number[] = []
    const until = performance.now() + patienceMilliseconds
    while (latencies.length < wanted && performance.now() < until) {
      await wait(500)
      for (const [value, at] of await clients.take()) {
        const committed = this.#committed.get(value)
        if (committed !== undefined) latencies.push(at - committed.at)
      }
    }
    return { latencies, missed: wanted - latencies.length }
  }
}
