import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { atomicScripts } from './atomic-scripts.ts'
import { transactionLimits, type Database } from './database.ts'
import { PrismaClient } from './generated/client/client.ts'
import { DatabaseUnreachable } from './unreachable.ts'

/** Any number that no other user of advisory locks in this database takes. */
const startLock = 7_261_190_411

/**
 * Opens a PostgreSQL (14 or newer).
 * @param url postgres://user:password@host:port/database
 * @throws {DatabaseUnreachable}
 */
export async function openPostgreSql(url: string, connections: number): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // Without a listener an idle connection that breaks would end the process; the next query opens a new one.
  pool.on('error', () => undefined)
  await connectOnce(pool, url)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  return {
    engine: 'postgresql',
    prisma,
    withEngineAdapter: (work) => withOwnAdapter(url, work),
    query: async <Row>(statement: { name: string; text: string }, values: readonly unknown[]) =>
      (await pool.query({ ...statement, values: [...values] })).rows as Row[],
    transaction: (work) => prisma.$transaction(work, transactionLimits),
    exclusively: (work) => withAdvisoryLock(url, work),
    close: async () => {
      await prisma.$disconnect()
      await pool.end()
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
