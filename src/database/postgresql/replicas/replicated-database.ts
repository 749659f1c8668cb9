import { setTimeout as wait } from 'node:timers/promises'
import type { Database, ReadServerState, VersionedReader } from '../../database.ts'
import { withQuery } from '../../read-path.ts'
import { DatabaseRefused, DatabaseUnavailable, RecoveryConflict } from '../../errors.ts'
import { snapshotsOf, type Warn } from '../read-pools.ts'
import { ReplicaMonitor } from './replica-monitor.ts'
import type { ReadServer } from './read-server.ts'
import { replicaTiming } from './timing.ts'

/** Replicas to read from. */
export interface ReplicaChoice {
  /** postgres://user:password@host:port/database of each */
  readonly urls: readonly string[]
  /** Maximum age of data that is served. */
  readonly staleSeconds: number
}

/** Time that a start waits for a server to read from; without one the gateway answers 503 until there is one. */
const startMilliseconds = 3_000

/**
 * Reads from one of several replicas instead of the primary, which serves everything else. The order of the replicas is
 * random, so that several processes spread over them.
 * @param primary the database, migrated; closed with the result
 * @param url address of the primary
 * @param connections maximum number of connections for reads to a replica
 * @throws {DatabaseRefused} when a replica is of another cluster, or of another database, than the primary
 */
export async function openReplicated(
  primary: Database,
  url: string,
  { urls, staleSeconds }: ReplicaChoice,
  connections: number,
  warn: Warn,
): Promise<Database> {
  const monitor = new ReplicaMonitor({ primaryUrl: url, urls: shuffled(urls), connections, staleSeconds, warn })
  await monitor.start()
  const foreign = monitor.replicas.find(({ isForeign }) => isForeign)
  if (foreign !== undefined) {
    const { name, problem } = foreign
    await monitor.stop()
    throw new DatabaseRefused(
      `PostgreSQL at ${name}, which READ_URLS names, ${problem ?? ''}. Name its replicas only, with its database.`,
    )
  }
  await firstServer(monitor)
  const problemNow = (): string | null => (monitor.server === null ? problemOf(monitor, staleSeconds) : null)

  async function server(): Promise<ReadServer> {
    const found = monitor.server ?? (await monitor.after(null))
    if (found !== null) return found
    throw new DatabaseUnavailable(undefined, problemOf(monitor, staleSeconds))
  }

  return {
    ...primary,
    ...withQuery({
      async read(...read) {
        const first = await server()
        try {
          return await first.read(...read)
        } catch (error) {
          if (!isLost(error)) throw error
          const other = await monitor.after(first)
          if (other === null) throw error
          return other.read(...read)
        }
      },
    }),
    snapshotsAtOnce: snapshotsOf(connections),
    async snapshot(work, signal, isLong) {
      const first = await server()
      const met = { isLost: false }
      const noted = (reader: VersionedReader): ReturnType<typeof work> =>
        work(noting(reader, (error) => (met.isLost ||= isLost(error))))
      const [outcome] = await Promise.allSettled([first.snapshot(noted, signal, isLong)])
      // Work may return the error of a read instead of throwing it.
      const other = met.isLost && signal?.aborted !== true ? await monitor.after(first) : null
      if (other !== null) return other.snapshot(work, signal, isLong)
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
    listen: (listener) => Promise.resolve(monitor.listen(listener)),
    readServer: (): ReadServerState => ({
      servers: monitor.replicas.map(({ name }) => name),
      server: monitor.server?.replica.name ?? null,
      moves: monitor.moves,
      problem: problemNow(),
      causes: causesOf(monitor),
    }),
    close: async () => {
      await monitor.stop()
      await primary.close()
    },
  }
}

/** Returns whether a read failed because of its server, so that it may succeed on another one. */
function isLost(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && !(error instanceof RecoveryConflict)
}

/** Returns a reader that also passes the errors of its reads to a function. */
function noting(reader: VersionedReader, onError: (error: unknown) => void): VersionedReader {
  return {
    async read(...read) {
      try {
        return await reader.read(...read)
      } catch (error) {
        onError(error)
        throw error
      }
    },
  }
}

async function firstServer(monitor: ReplicaMonitor): Promise<void> {
  const until = performance.now() + startMilliseconds
  while (monitor.server === null && performance.now() < until) {
    // Where no server was found for a while, `after` returns immediately.
    if ((await monitor.after(null)) === null) await wait(replicaTiming.searchMilliseconds)
  }
}

/** Returns the reason why nothing can be read, for clients: names no server. */
function problemOf(monitor: ReplicaMonitor, staleSeconds: number): string {
  const age = Math.floor(monitor.ageMilliseconds / 1000)
  const because = causesOf(monitor).map((cause) => `: ${cause}`)[0] ?? ''
  if (age === Infinity) return `It is not known how old the data of the replicas is${because}.`
  if (age < staleSeconds) return `No replica can be read from now${because}.`
  return `The data of the replicas is ${age} s old, and at most ${staleSeconds} s are allowed${because}.`
}

/** Returns the reasons why the data becomes older, in words; empty where there are none. */
function causesOf(monitor: ReplicaMonitor): string[] {
  if (monitor.primaryProblem !== null) return ['the primary does not tell how far it is']
  const isOfOtherHistory = monitor.replicas.every(({ contradictsPrimary }) => contradictsPrimary)
  if (isOfOtherHistory) return ['the replicas do not have the history of the primary']
  return monitor.isLagging ? ['the replica lags behind the primary'] : []
}

/** Fisher and Yates' shuffle. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const left = [...items]
  return items.flatMap(() => left.splice(Math.floor(Math.random() * left.length), 1))
}
