import type pg from 'pg'
import type { Database, Snapshots } from '../database.ts'
import { composeReads } from '../read-path.ts'
import { pooledReader, type ReadPools } from './reads/pooled-reads.ts'
import { pooledSnapshots, snapshotsWithin } from './reads/pooled-snapshots.ts'
import { RetryingPool, type RetryingPoolOptions } from './retrying-pool.ts'
import { readAddress } from './server-address.ts'
import { configuresSessions } from './session-settings.ts'

/** One in this many read connections is reserved for long reads, and at least one. */
const connectionsForOneLong = 5
/** Timeout for getting a connection for a read. */
const connectMilliseconds = 5_000
/** Statement timeout of reads on the server, longer than any request may take. */
const readTimeoutMilliseconds = 60_000
/** Limit for a snapshot that is idle in its transaction: responses are computed between its reads in far less time. */
const idleTimeoutMilliseconds = 10_000

/** Probes of an idle connection, by which a process learns that its server has vanished. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Receives a warning for the operator. */
export type Warn = (message: string) => void

/** Makes pools of connections to one server. */
export type MakePool = (options: Partial<RetryingPoolOptions> & { readonly max: number }) => RetryingPool

/**
 * Returns a function that makes pools of connections to a server.
 * @param connections maximum number of connections for reads, for the warning
 * @param warn called once where the server provides fewer connections
 */
export function poolsOf(url: string, connections: number, warn: Warn): MakePool {
  const onFull = warnOnce(url, connections, warn)
  return (options) => {
    const common = { connectionString: url, ...keepAlive, connectionTimeoutMillis: connectMilliseconds, onFull }
    const made = new RetryingPool({ ...common, ...options })
    // Without error listeners a broken connection would end the process. Its query fails, and the pool connects again.
    made.on('connect', (client) => void client.on('error', () => undefined))
    made.on('error', () => undefined)
    return made
  }
}

function warnOnce(url: string, connections: number, warn: Warn): () => void {
  let isWarned = false
  return () => {
    if (isWarned) return
    isWarned = true
    warn(
      `PostgreSQL at ${readAddress(url).name} gives this process no more connections: requests wait for those it has. ` +
        `It may have up to ${connections} for reads there. ` +
        `Lower DATABASE_CONNECTIONS, or raise max_connections or the limit of the role or database`,
    )
  }
}

/** Returns how many of the connections for reads are for long ones. */
const longOf = (connections: number): number => Math.max(1, Math.floor(connections / connectionsForOneLong))

/** Returns how many snapshots without long reads may run at once within a number of connections for reads. */
export function snapshotsOf(connections: number): number {
  return snapshotsWithin(connections - longOf(connections))
}

/**
 * Makes the pools for reads of a server; they connect with the first read. Each takes over a connection of the others where
 * the server gives it none.
 * @param connections maximum number of connections of both pools for reads
 * @returns the pools, and those that close connections for others
 */
export function openReadPools(
  pool: MakePool,
  connections: number,
): ReadPools & { readonly lenders: readonly RetryingPool[] } {
  const forLong = longOf(connections)
  const lenders: RetryingPool[] = []
  const reading = { pipeline: true, onConnect: configureReads, lenders, usesLenders: true }
  const short = pool({ max: connections - forLong, ...reading })
  const long = pool({ max: forLong, ...reading })
  lenders.push(short, long)
  return { short, long, lenders }
}

/**
 * Makes a pool for the one connection that receives commits. It takes over a connection for reads where the server gives it none:
 * without it nothing is cached, and no version is known.
 * @param lenders of the pools for reads
 * @param milliseconds timeout of the connection and of a response
 */
export function openListenPool(pool: MakePool, lenders: readonly RetryingPool[], milliseconds: number): RetryingPool {
  const timeouts = { connectionTimeoutMillis: milliseconds, query_timeout: milliseconds }
  return pool({ max: 1, ...timeouts, onConnect: configureReads, lenders })
}

const configureReads = configuresSessions(connectMilliseconds, {
  statement_timeout: readTimeoutMilliseconds,
  idle_in_transaction_session_timeout: idleTimeoutMilliseconds,
  // Compiling a plan takes a hundred times as long as a hot read, and is repeated at each execution.
  jit: 'off',
})

/** Returns all pools of a server. */
export function eachPool({ short, long }: ReadPools): readonly pg.Pool[] {
  return [short, long]
}

/** Returns reads and snapshots on the pools of a server. */
export function readsOn(pools: ReadPools): Pick<Database, 'read' | 'query' | keyof Snapshots> {
  return { ...composeReads('postgresql', pooledReader(pools)), ...pooledSnapshots(pools) }
}
