import { setTimeout as wait } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { atomicScripts } from '../prisma/atomic-scripts.ts'
import { type Cancellation, throwIfCancelled, untilCancelled } from '../cancellation.ts'
import { listenOnPrimary } from './listen.ts'
import { serverReason } from './listen-warnings.ts'
import type { Database } from '../database.ts'
import { PrismaClient } from '../prisma/generated/client/client.ts'
import { DatabaseRefused, DatabaseUnavailable, DatabaseUnreachable } from '../errors.ts'
import { schemaOfTables } from '../permissions.ts'
import { readAddress } from './server-address.ts'
import {
  adapterWithOutages,
  classifyStatementError,
  classifyServerError,
  rejectWithOutage,
  type ToOutage,
} from '../driver-errors.ts'
import { eachPool, keepAlive, openReadPools, poolsOf, readsOn, type Warn } from './read-pools.ts'
import { pooledTransactions } from './transactions.ts'
import { writeOptions } from './writer.ts'
import { requireOwnSessions } from './shared-sessions.ts'
import { lockSession, migrationLock, startLock } from './session-lock.ts'

/** Connections besides those for reads: an ingest writes on one, and reads its start position on another. */
const writeConnections = 2
const rareConnections = 1
/** Timeout of the connection for the lock of a start. */
const lockConnectMilliseconds = 30_000
/** How long a start waits for a killed process's migrations on the server: 100 million ledger rows take 300 s. */
const migrationWaitSeconds = 600
/** Maximum time for a server to end a connection. */
const endMilliseconds = 1_000

/**
 * Opens a PostgreSQL server, version 14 or newer.
 * @param url postgres://user:password@host:port/database
 * @param connections maximum number of connections for reads; writes and rare queries use up to three more
 * @param warn called once where the server provides fewer connections, and where commits are not received
 * @throws {DatabaseUnreachable} when the server cannot be used
 */
export async function openPostgreSql(
  url: string,
  connections: number,
  warn: Warn = () => undefined,
): Promise<Database> {
  const pool = poolsOf(url, connections, warn)
  const readPools = openReadPools(pool, connections)
  const schema = await connectOnce(readPools.short, url)
  const writing = { ...writeOptions(), lenders: readPools.lenders }
  const writes = pool({ max: writeConnections, pipeline: true, ...writing })
  const rare = pool({ max: rareConnections, ...writing })
  const toOutage = classifyServerError(readAddress(url).name, schema.schema)
  const adapter = adapterWithOutages(new PrismaPg(rare, schema), classifyStatementError(toOutage))
  const prisma = new PrismaClient({ adapter })
  return {
    ...readsOn(readPools),
    engine: 'postgresql',
    prisma,
    listen: (listener) => Promise.resolve(listenOnPrimary({ url, pool, lenders: readPools.lenders, warn }, listener)),
    withEngineAdapter: (work) => withOwnAdapter(url, toOutage, warn, work),
    ...pooledTransactions(writes, toOutage),
    exclusively: (work, signal) => withStartLock(url, toOutage, warn, work, signal),
    close: async () => {
      await prisma.$disconnect()
      await Promise.all([...eachPool(readPools), writes, rare].map((each) => each.end()))
    },
  }
}

/** Encodings that store each character. SQL_ASCII stores the bytes as they are sent. */
const encodings: readonly string[] = ['UTF8', 'SQL_ASCII']

interface Properties {
  readonly encoding: string
  /** The schema in which the search path finds the tables, or in which the migrations create them. */
  readonly schema: string | null
}

const properties = `select current_setting('server_encoding') as encoding, ${schemaOfTables} as schema`

/**
 * Connects to the server.
 * @returns the schema of the tables, for Prisma's client, whose statements name one: all others use the search path, which a role
 *   or database may set; empty where the path has no schema
 */
async function connectOnce(pool: pg.Pool, url: string): Promise<{ readonly schema?: string }> {
  try {
    const client = await pool.connect()
    try {
      await requireOwnSessions(client, url)
      const [found] = (await client.query<Properties>(properties)).rows
      const { encoding, schema } = found as Properties
      // Texts of facts and of requests have other characters, for which each statement would fail.
      if (!encodings.includes(encoding)) throw new Error(`the encoding of the database is ${encoding}, and not UTF8`)
      return schema === null ? {} : { schema }
    } finally {
      client.release()
    }
  } catch (error) {
    await pool.end()
    throw unreachable(url, error)
  }
}

function unreachable(url: string, error: unknown): DatabaseUnreachable {
  return new DatabaseUnreachable(readAddress(url).name, serverReason(error))
}

/**
 * Runs work with a driver adapter on a separate connection. A server does not notice that a process was killed while it
 * runs the process's script: the connection holds a lock against others until its session has ended. The schema engine
 * replaces driver errors by other texts; outages and refusals of the server are thrown as the driver reported them.
 */
async function withOwnAdapter<Result>(
  url: string,
  toOutage: ToOutage,
  warn: Warn,
  work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>,
): Promise<Result> {
  const connected: pg.ClientBase[] = []
  // Another connection would not have the lock of the first one.
  const onConnect = (client: pg.ClientBase): void => {
    // Without an error listener a broken connection would end the process. Its query fails.
    if (connected.push(client.on('error', () => undefined)) > 1)
      throw new DatabaseUnavailable(undefined, 'The connection of the migrations was lost.')
  }
  const options = { connectionString: url, max: 1, idleTimeoutMillis: 0, ...keepAlive, onConnect }
  const pool = new pg.Pool(options).on('error', () => undefined)
  const met: unknown[] = []
  const noted: ToOutage = (error) => {
    const found = toOutage(error)
    if (found !== null) met.push(found instanceof DatabaseRefused ? error : found)
    return found
  }
  // The pool's own method would close the connection of a statement that fails.
  const run = async (sql: string): Promise<unknown> => {
    const client = await rejectWithOutage(pool.connect(), noted)
    return rejectWithOutage(client.query(sql), noted).finally(() => client.release())
  }
  try {
    await lockSession(run, migrationLock, migrationWaitSeconds, waitWarning(warn, 'migrations of another process'))
    return await work(adapterWithOutages(atomicScripts(new PrismaPg(pool), run), noted))
  } catch (error) {
    throw met[0] ?? error
  } finally {
    await closed(pool.end(), connected)
  }
}

/**
 * Runs work under the lock of a start, on a separate connection, so that the server releases the lock when the process ends.
 * @see PostgreSQL documentation, "Advisory Locks"
 */
async function withStartLock<Result>(
  url: string,
  toOutage: ToOutage,
  warn: Warn,
  work: () => Promise<Result>,
  signal: Cancellation | undefined,
): Promise<Result> {
  throwIfCancelled(signal)
  const options = { connectionString: url, ...keepAlive, connectionTimeoutMillis: lockConnectMilliseconds }
  const client = new pg.Client(options)
  client.on('error', () => undefined)
  await client.connect().catch((error: unknown) => Promise.reject(unreachable(url, error)))
  const run = (sql: string): Promise<unknown> => rejectWithOutage(client.query(sql), toOutage)
  const onWait = waitWarning(warn, 'a process that migrates this database or fills it')
  try {
    await untilCancelled(lockSession(run, startLock, migrationWaitSeconds, onWait), signal)
    return await work()
  } finally {
    await closed(client.end(), [client])
  }
}

/** Waits for the end of connections, and closes those that a silent server keeps open. */
async function closed(ending: Promise<void>, clients: readonly pg.ClientBase[]): Promise<void> {
  await Promise.race([ending.catch(() => undefined), wait(endMilliseconds, undefined, { ref: false })])
  for (const client of clients) (client as unknown as Pick<pg.Client, 'connection'>).connection.stream.destroy()
}

function waitWarning(warn: Warn, what: string): (holder: string) => void {
  return (holder) => warn(`Waits up to ${migrationWaitSeconds} s for ${what}: ${holder}`)
}
