import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../../src/database/database.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { type GatewayProcess, startGateway } from '../../reliability/gateway.ts'
import { startHonestClients } from '../../reliability/attacks/honest-clients.ts'
import { quantile } from '../../reliability/program-result.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position, strategy } from '../../support/world.ts'
import { startSubscribers, type SubscriberProcess } from './subscriber-process.ts'

export interface LiveMeasureOptions {
  /** A database with all migrations and no rows, by which this process writes. */
  readonly database: Database
  /** Address of the same database, for the gateway. */
  readonly url: string
  readonly subscribers: number
  readonly vaults: number
  /** Seconds without changes in which memory and CPU time are measured: longer than two heartbeats. */
  readonly idleSeconds: number
  /** Number of changes that all subscribers receive. */
  readonly broadcasts: number
  /** Seconds of changes that each concern one vault. */
  readonly trickleSeconds: number
}

/** Measurements of one gateway process; times in milliseconds. */
export interface LiveMeasurement {
  readonly subscribers: number
  /** Resident memory with all streams open, above that without streams. */
  readonly idleMegabytes: number
  /** CPU time of the process with all streams open and no changes, as a share of a core. */
  readonly idleCpu: number
  /** Latency from the commit to the client, of changes that all subscribers receive. */
  readonly broadcast: { readonly p50: number; readonly p99: number }
  /** CPU time of the process for one event of one subscriber, in microseconds. */
  readonly deliveryMicroseconds: number
  /** Latency of other clients' uncached snapshots, during the broadcasts and without streams. */
  readonly snapshotsMeanwhile: { readonly p99: number; readonly unloadedP99: number }
  /** Latency from the commit to the client, of changes that each concern one vault. */
  readonly trickle: { readonly p50: number; readonly p99: number }
  /** Number of events that did not arrive in time. */
  readonly missed: number
}

const changesPerSecond = 20
/** Interval of the broadcasts: one has reached all subscribers before the next. */
const broadcastIntervalMilliseconds = 1_500
const deliveryTimeoutMilliseconds = 20_000

/** Starts a gateway and a process of subscribers; measures without changes, during broadcasts, and during a trickle. */
export async function measureLive(options: LiveMeasureOptions): Promise<LiveMeasurement> {
  const { database, url, subscribers, vaults } = options
  await apply(database, [strategy('one'), ...Array.from({ length: vaults }, (_, at) => initialFacts(at)).flat()])
  const gateway = await startGateway([], { DATABASE_URL: url })
  const clients = startSubscribers()
  try {
    const { snapshots: unloaded } = await withSnapshotRequests(gateway, vaults, () => wait(2_000))
    const base = await gateway.read()
    await clients.open(gateway.port, [pathOf(0)], subscribers)
    const open = await gateway.read()
    await wait(options.idleSeconds * 1000)
    const idle = await gateway.read()
    const broadcast = await measureBroadcasts(options, gateway, clients)
    const afterwards = await gateway.read()
    await clients.closeStreams()
    await clients.open(
      gateway.port,
      Array.from({ length: vaults }, (_, at) => pathOf(at)),
      subscribers,
    )
    const trickle = await measureTrickle(options, clients)
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

function initialFacts(at: number): FactInput[] {
  const vault = addressOf(at + 1)
  return [opened(vault, 'one'), deposit(vault, midnight + 1 + at, '1000')]
}

function pathOf(at: number): string {
  return `/live/vaults?vault=${addressOf(at + 1)}`
}

/** Sends snapshot requests of other clients during some work. */
async function withSnapshotRequests(gateway: GatewayProcess, vaults: number, work: () => Promise<unknown>) {
  // The last vaults: broadcasts change the first one.
  const others = Array.from({ length: Math.min(50, vaults - 1) }, (_, at) => addressOf(vaults - at))
  const witness = startHonestClients(gateway.port, others)
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
  /** Number of events that did not arrive in time. */
  readonly missed: number
}

/** Repeatedly changes one vault, which all subscribers follow. */
async function measureBroadcasts(
  { database, ...options }: LiveMeasureOptions,
  gateway: GatewayProcess,
  clients: SubscriberProcess,
) {
  const writer = new ChangeWriter(database, options.vaults)
  await clients.take()
  const { snapshots } = await withSnapshotRequests(gateway, options.vaults, async () => {
    for (let count = 0; count < options.broadcasts; count++) {
      await Promise.all([writer.change(0), wait(broadcastIntervalMilliseconds)])
    }
  })
  return { ...(await writer.latencies(clients, () => options.subscribers)), snapshots }
}

/** Changes one vault after another at a constant rate; the subscribers are spread over all vaults. */
async function measureTrickle(options: LiveMeasureOptions, clients: SubscriberProcess): Promise<Latencies> {
  const { database, vaults, subscribers } = options
  const writer = new ChangeWriter(database, vaults)
  await clients.take()
  const changes = options.trickleSeconds * changesPerSecond
  for (let count = 0; count < changes; count++) {
    await Promise.all([writer.change((count * 7) % vaults), wait(1000 / changesPerSecond)])
  }
  const followersOf = (vault: number): number =>
    Math.floor(subscribers / vaults) + (vault < subscribers % vaults ? 1 : 0)
  return writer.latencies(clients, followersOf)
}

/** Commits changes with unique values, by which it matches them with the events of subscribers. */
class ChangeWriter {
  static #changes = 0
  readonly #database: Database
  readonly #vaults: number
  readonly #committed = new Map<number, { readonly at: number; readonly vault: number }>()
  #committedAt = 0

  constructor(database: Database, vaults: number) {
    this.#vaults = vaults
    this.#database = {
      ...database,
      // Latencies begin when the commit has returned to the writer.
      transaction: async (work) => {
        const result = await database.transaction(work)
        this.#committedAt = Number(process.hrtime.bigint()) / 1e6
        return result
      },
    }
  }

  /** Commits one change of the vault with this index. */
  async change(vault: number): Promise<void> {
    const valueUsd = 2_000 + ++ChangeWriter.#changes / 100
    const ts = midnight + this.#vaults + 10 + ChangeWriter.#changes
    await apply(this.#database, [mark(addressOf(vault + 1), ts, valueUsd.toFixed(2), { positions: [position('p')] })])
    this.#committed.set(Number(valueUsd.toFixed(2)), { at: this.#committedAt, vault })
  }

  /**
   * Waits for the events of all changes, up to a timeout, and returns their latencies.
   * @param followersOf returns the number of streams that follow the vault with an index
   */
  async latencies(clients: SubscriberProcess, followersOf: (vault: number) => number): Promise<Latencies> {
    const expected = [...this.#committed.values()].reduce((sum, { vault }) => sum + followersOf(vault), 0)
    const latencies: number[] = []
    const until = performance.now() + deliveryTimeoutMilliseconds
    while (latencies.length < expected && performance.now() < until) {
      await wait(500)
      for (const [value, at] of await clients.take()) {
        const committed = this.#committed.get(value)
        if (committed !== undefined) latencies.push(at - committed.at)
      }
    }
    return { latencies, missed: expected - latencies.length }
  }
}
