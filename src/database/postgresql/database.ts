import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { atomicScripts } from '../prisma/atomic-scripts.ts'
import { listenOnPostgreSql } from './listen.ts'
import type { Database } from '../database.ts'
import { PrismaClient } from '../prisma/generated/client/client.ts'
import { DatabaseRefused } from '../errors.ts'
import { readAddress } from './server-address.ts'
import { ofServer, type OutageOf, told, tellingOutages } from '../errors.ts'
import { RetryingPool, type RetryingPoolOptions } from './patient-pool.ts'
import { pooledReader } from './pooled-reads.ts'
import { batchReads } from '../batching/batch-scheduler.ts'
import { pooledSnapshots } from './pooled-snapshots.ts'
import { pooledTransactions } from './transactions.ts'
import { withPlainRows } from '../decode-rows.ts'
import { DatabaseUnreachable } from '../errors.ts'

/** Any number that no other user of advisory locks in this database takes. */
const startLock = 7_261_190_411

/** Connections beside those that read: an ingest writes on one, and its start reads on another how far it is. */
const writeConnections = 2
const seldomConnections = 1
/** One in so many of the connections that read is for unbounded reads, and one at least. */
const connectionsForOneUnbounded = 5
/** How long a read waits for a connection; requests have about as long for all they ask. */
const connectMilliseconds = 5_000
/** How long a write waits for the server's answer, which may have to wait for another writer's transaction. */
const writeMilliseconds = 60_000
/** Where nobody cancels it, the server ends a read that takes longer than any request may. */
const longestReadMilliseconds = 60_000
/** Between the reads of a snapshot an answer is made: one that idles this long holds a connection for nobody. */
const longestIdleMilliseconds = 10_000

/**
 * Opens a PostgreSQL (14 or newer).
 * @param url postgres://user:password@host:port/database
 * @param connections that reads take at most; writing and cancelling take up to four more
 * @param warn is told once where the server gives fewer connections
 * @throws {DatabaseUnreachable}
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
    // Without listeners a connection that breaks would end the process; its query is told, and the next one opens anew.
    made.on('connect', (client) => void client.on('error', () => undefined))
    made.on('error', () => undefined)
    return made
  }
  const forUnbounded = Math.max(1, Math.floor(connections / connectionsForOneUnbounded))
  const reading = {
    pipeline: true,
    statement_timeout: longestReadMilliseconds,
    idle_in_transaction_session_timeout: longestIdleMilliseconds,
  }
  const reads = pool({ max: connections - forUnbounded, ...reading })
  const unboundedReads = pool({ max: forUnbounded, ...reading })
  await connectOnce(reads, url)
  const lender = reads
  const control = pool({ max: 1, lender })
  const patient = { connectionTimeoutMillis: 6 * connectMilliseconds, query_timeout: writeMilliseconds, lender }
  const writes = pool({ max: writeConnections, pipeline: true, ...patient })
  const seldom = pool({ max: seldomConnections, ...patient })
  const readPools = { short: reads, unbounded: unboundedReads, control }
  const outageOf = ofServer(readAddress(url).name)
  const prisma = new PrismaClient({ adapter: tellingOutages(new PrismaPg(seldom), outageOf) })
  return {
    ...withPlainRows(batchReads(pooledReader(readPools))),
    ...pooledSnapshots(readPools),
    engine: 'postgresql',
    prisma,
    listen: (listener) => Promise.resolve(listenOnPostgreSql(url, listener)),
    withEngineAdapter: (work) => withOwnAdapter(url, outageOf, work),
    ...pooledTransactions(writes, outageOf),
    exclusively: (work) => withAdvisoryLock(url, outageOf, work),
    close: async () => {
      await prisma.$disconnect()
      await Promise.all([reads, unboundedReads, control, writes, seldom].map((each) => each.end()))
    },
  }
}

/** Tells an operator of what the gateway makes do with. */
export type Warn = (message: string) => void

function warnOnce(url: string, connections: number, warn: Warn): () => void {
  let isTold = false
  return () => {
    if (isTold) return
    isTold = true
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
  // A refused connection to several addresses of a name has a code and no message.
  const { message, code } = error as { message: string; code?: string }
  return new DatabaseUnreachable(readAddress(url).name, message === '' ? String(code) : message)
}

/** The engine tells errors in words of its own: an outage, or a refusal of the server, is told as what the driver said. */
async function withOwnAdapter<Result>(
  url: string,
  outageOf: OutageOf,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>,
): Promise<Result> {
  const pool = new pg.Pool({ connectionString: url, max: 1 }).on('error', () => undefined)
  const met: unknown[] = []
  const noted: OutageOf = (error) => {
    const found = outageOf(error)
    if (found !== null) met.push(found instanceof DatabaseRefused ? error : found)
    return found
  }
  const run = (sql: string): Promise<unknown> => told(pool.query(sql), noted)
  try {
    return await work(tellingOutages(atomicScripts(new PrismaPg(pool), run), noted))
  } catch (error) {
    throw met[0] ?? error
  } finally {
    await pool.end()
  }
}

/** On a connection of its own, so that the lock goes with the process. */
async function withAdvisoryLock<Result>(url: string, outageOf: OutageOf, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect().catch((error: unknown) => Promise.reject(unreachable(url, error)))
  try {
    await told(client.query('select pg_advisory_lock($1)', [startLock]), outageOf)
    return await work()
  } finally {
    await client.end()
  }
}
