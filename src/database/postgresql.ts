import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { atomicScripts } from './atomic-scripts.ts'
import type { Database } from './database.ts'
import { PrismaClient } from './generated/client/client.ts'
import { ofServer, tellingOutages } from './outages.ts'
import { pooledReader } from './reads.ts'
import { sharingReads } from './shared-reads.ts'
import { pooledTransactions } from './transactions.ts'
import { DatabaseUnreachable } from './unreachable.ts'
import { watchPostgreSql } from './watch.ts'

/** Any number that no other user of advisory locks in this database takes. */
const startLock = 7_261_190_411

/** Connections beside those that read: an ingest writes on one, and its start reads on another how far it is. */
const writeConnections = 2
const seldomConnections = 1
/** How long a read waits for a connection; requests have about as long for all they ask. */
const connectMilliseconds = 5_000
/** How long a write waits for the server's answer, which may have to wait for another writer's transaction. */
const writeMilliseconds = 60_000
/** Where nobody cancels it, the server ends a read that takes longer than any request may. */
const longestReadMilliseconds = 60_000

/**
 * Opens a PostgreSQL (14 or newer).
 * @param url postgres://user:password@host:port/database
 * @param connections that reads take at most; writing and cancelling take up to four more
 * @throws {DatabaseUnreachable}
 */
export async function openPostgreSql(url: string, connections: number): Promise<Database> {
  const pool = (options: pg.PoolConfig): pg.Pool => {
    const made = new pg.Pool({ connectionString: url, connectionTimeoutMillis: connectMilliseconds, ...options })
    // Without listeners a connection that breaks would end the process; its query is told, and the next one opens anew.
    made.on('connect', (client) => void client.on('error', () => undefined))
    return made.on('error', () => undefined)
  }
  const reads = pool({ max: connections, pipeline: true, statement_timeout: longestReadMilliseconds })
  await connectOnce(reads, url)
  const control = pool({ max: 1 })
  const patient = { connectionTimeoutMillis: 6 * connectMilliseconds, query_timeout: writeMilliseconds }
  const writes = pool({ max: writeConnections, pipeline: true, ...patient })
  const seldom = pool({ max: seldomConnections, ...patient })
  const outageOf = ofServer(new URL(url).host)
  const prisma = new PrismaClient({ adapter: tellingOutages(new PrismaPg(seldom), outageOf) })
  return {
    ...sharingReads(pooledReader(reads, control)),
    engine: 'postgresql',
    prisma,
    watch: (watcher) => Promise.resolve(watchPostgreSql(url, watcher)),
    withEngineAdapter: (work) => withOwnAdapter(url, work),
    ...pooledTransactions(writes, outageOf),
    exclusively: (work) => withAdvisoryLock(url, work),
    close: async () => {
      await prisma.$disconnect()
      await Promise.all([reads.end(), control.end(), writes.end(), seldom.end()])
    },
  }
}

async function connectOnce(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    // A refused connection to several addresses of a name has a code and no message.
    const { message, code } = error as { message: string; code?: string }
    throw new DatabaseUnreachable(new URL(url).host, message === '' ? String(code) : message)
  }
}

async function withOwnAdapter<Result>(
  url: string,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>,
): Promise<Result> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  try {
    return await work(atomicScripts(new PrismaPg(pool), (sql) => pool.query(sql)))
  } finally {
    await pool.end()
  }
}

/** On a connection of its own, so that the lock goes with the process. */
async function withAdvisoryLock<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [startLock])
    return await work()
  } finally {
    await client.end()
  }
}
