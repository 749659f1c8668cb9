import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { atomicScripts } from '../prisma/atomic-scripts.ts'
import { listenOnPostgreSql } from './listen.ts'
import type { Database } from '../database.ts'
import { PrismaClient } from '../prisma/generated/client/client.ts'
import { DatabaseRefused, DatabaseUnreachable } from '../errors.ts'
import { readAddress } from './server-address.ts'
import { classifyServerError, type ToOutage, rejectWithOutage, adapterWithOutages } from '../driver-errors.ts'
import { RetryingPool, type RetryingPoolOptions } from './retrying-pool.ts'
import { pooledReader } from './pooled-reads.ts'
import { batchReads } from '../batching/batch-scheduler.ts'
import { pooledSnapshots } from './pooled-snapshots.ts'
import { pooledTransactions } from './transactions.ts'
import { writeTimeouts } from './writer.ts'
import { lockSession } from './session-lock.ts'
import { migrationWaitSeconds } from '../../limits.ts'
import { withQuery } from '../decode-rows.ts'

/**
 * Keys of advisory locks: of a process that migrates, and of the server's session that runs its migrations. Any
 * constants that no other user of this database takes.
 */
const startLock = 7_261_190_411
const sessionLock = 7_261_190_412

/** Connections besides those for reads: an ingest writes on one, and reads its start position on another. */
const writeConnections = 2
const rareConnections = 1
/** One in this many read connections is reserved for long reads, and at least one. */
const connectionsForOneLong = 5
/** Timeout for getting a connection for a read: about the timeout of a whole request. */
const connectMilliseconds = 5_000
/** Statement timeout of reads on the server, longer than any request may take. */
const readTimeoutMilliseconds = 60_000
/** Limit for a snapshot that is idle in its transaction: responses are computed between its reads in far less time. */
const idleTimeoutMilliseconds = 10_000

/**
 * Opens a PostgreSQL server, version 14 or newer.
 * @param url postgres://user:password@host:port/database
 * @param connections maximum number of connections for reads; writes, cancellation and rare queries use up to four more
 * @param warn called once where the server provides fewer connections
 * @throws {DatabaseUnreachable} when the server cannot be used
 */
export async function openPostgreSql(
  url: string,
  connections: number,
  warn: Warn = () => undefined,
): Promise<Database> {
  const onFull = warnOnce(url, connections, warn)
  const pool = (options: Partial<RetryingPoolOptions> & { readonly max: number }): RetryingPool => {
    const common = { connectionString: url, keepAlive: true, connectionTimeoutMillis: connectMilliseconds, onFull }
    const made = new RetryingPool({ ...common, ...options })
    // Without error listeners a broken connection would end the process. Its query fails, and the pool connects again.
    made.on('connect', (client) => void client.on('error', () => undefined))
    made.on('error', () => undefined)
    return made
  }
  const forLong = Math.max(1, Math.floor(connections / connectionsForOneLong))
  const reading = {
    pipeline: true,
    statement_timeout: readTimeoutMilliseconds,
    idle_in_transaction_session_timeout: idleTimeoutMilliseconds,
    // Compiling a plan takes a hundred times as long as a hot read, and is repeated at each execution.
    options: '-c jit=off',
  }
  const reads = pool({ max: connections - forLong, ...reading })
  const longReads = pool({ max: forLong, ...reading })
  await connectOnce(reads, url)
  const lender = reads
  const control = pool({ max: 1, lender })
  const writeOptions = { ...writeTimeouts, lender }
  const writes = pool({ max: writeConnections, pipeline: true, ...writeOptions })
  const rare = pool({ max: rareConnections, ...writeOptions })
  const readPools = { short: reads, long: longReads, control }
  const toOutage = classifyServerError(readAddress(url).name)
  const prisma = new PrismaClient({ adapter: adapterWithOutages(new PrismaPg(rare), toOutage) })
  return {
    ...withQuery(batchReads(pooledReader(readPools))),
    ...pooledSnapshots(readPools),
    engine: 'postgresql',
    prisma,
    listen: (listener) => Promise.resolve(listenOnPostgreSql(url, listener)),
    withEngineAdapter: (work) => withOwnAdapter(url, toOutage, work),
    ...pooledTransactions(writes, toOutage),
    exclusively: (work) => withAdvisoryLock(url, toOutage, work),
    close: async () => {
      await prisma.$disconnect()
      await Promise.all([reads, longReads, control, writes, rare].map((each) => each.end()))
    },
  }
}

/** Receives a warning for the operator. */
export type Warn = (message: string) => void

function warnOnce(url: string, connections: number, warn: Warn): () => void {
  let isWarned = false
  return () => {
    if (isWarned) return
    isWarned = true
    warn(
      `PostgreSQL at ${readAddress(url).name} gives this process no more connections: requests wait for those it has. ` +
        `Lower DATABASE_CONNECTIONS (${connections}), or raise max_connections or the limit of the role or database`,
    )
  }
}

async function connectOnce(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    throw unreachable(url, error)
  }
}

function unreachable(url: string, error: unknown): DatabaseUnreachable {
  // A refused connection to several addresses of one host name has a code but no message.
  const { message, code } = error as { message: string; code?: string }
  return new DatabaseUnreachable(readAddress(url).name, message === '' ? String(code) : message)
}

/**
 * Runs work with a driver adapter of its own connection. A server does not notice that a process was killed while it
 * runs the process's script: the connection locks out others until its session has ended. The schema engine replaces
 * driver errors by its own texts; outages and refusals of the server are thrown as the driver reported them.
 */
async function withOwnAdapter<Result>(
  url: string,
  toOutage: ToOutage,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>,
): Promise<Result> {
  const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 }).on('error', () => undefined)
  const met: unknown[] = []
  const noted: ToOutage = (error) => {
    const found = toOutage(error)
    if (found !== null) met.push(found instanceof DatabaseRefused ? error : found)
    return found
  }
  const run = (sql: string): Promise<unknown> => rejectWithOutage(pool.query(sql), noted)
  try {
    await lockSession(run, sessionLock, migrationWaitSeconds)
    return await work(adapterWithOutages(atomicScripts(new PrismaPg(pool), run), noted))
  } catch (error) {
    throw met[0] ?? error
  } finally {
    await pool.end()
  }
}

/**
 * Runs work under an advisory lock, on a connection of its own, so that the server releases the lock with the process.
 * @see PostgreSQL documentation, "Advisory Locks"
 */
async function withAdvisoryLock<Result>(url: string, toOutage: ToOutage, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect().catch((error: unknown) => Promise.reject(unreachable(url, error)))
  try {
    await rejectWithOutage(client.query('select pg_advisory_lock($1)', [startLock]), toOutage)
    return await work()
  } finally {
    await client.end()
  }
}
