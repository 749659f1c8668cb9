import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import type { Cancellation } from '../../src/database/cancellation.ts'
import type { Database, Statement, VersionedReader } from '../../src/database/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { onPGlite, openPGlite } from '../../src/database/pglite/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { withQuery } from '../../src/database/read-path.ts'

/** Address of the PostgreSQL server on which the tests create databases; undefined if they run on PGlite. */
export const postgresUrl = process.env['TEST_DATABASE_URL']

/** A database that records the hot reads sent to it. */
export interface TestDatabase extends Database {
  /** Returns the names of the statements that were sent since the last call. */
  takeStatements(): string[]
}

let shared: Promise<TestDatabase> | undefined

/** Returns this process's database, with all migrations and no rows; all tests of a file share it. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const database = await (shared ??= createDatabase())
  await empty(database)
  database.takeStatements()
  return database
}

/**
 * Deletes all rows. Waits for reads of an earlier test that still run, and retries after a deadlock with them.
 * @throws {Error} with the statements that hold locks for more than 20 s; their sessions are terminated
 */
export async function empty(database: Database): Promise<void> {
  const tables = await tablesOf(database)
  const names = tables.map((name) => `"${name}"`).join(', ')
  const limit: Statement = { name: 'limit_locks', text: `set local lock_timeout = '20s'` }
  const truncate: Statement = { name: 'truncate', text: `truncate ${names} restart identity cascade` }
  for (let attempt = 1; ; attempt++) {
    try {
      await database.transaction(async (transaction) => {
        transaction.send(limit, [])
        await transaction.query(truncate, [])
      })
      return
    } catch (error) {
      const code = codeOf(error)
      if (code === '40P01' && attempt < 5) continue
      if (code !== '55P03') throw error
      throw new Error(`the tables are locked by ${await endLockHolders(database)}`, { cause: error })
    }
  }
}

/** Returns the names of all tables except that of the migrations. */
async function tablesOf(database: Database): Promise<string[]> {
  const text = `select tablename::text as name from pg_tables where schemaname = 'public' and tablename <> '_prisma_migrations'`
  const tables = await database.query<{ name: string }>({ name: 'tables', text }, [])
  return tables.map(({ name }) => name)
}

/** Returns the SQLSTATE of an error or of its cause. */
function codeOf(error: unknown): unknown {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return code ?? (cause === undefined ? undefined : codeOf(cause))
}

/** Terminates all other sessions of the database that are in a transaction, and returns their last statements. */
async function endLockHolders(database: Database): Promise<string> {
  const text = `
    select string_agg(concat_ws(' ', pid, state, now() - xact_start, query, pg_terminate_backend(pid)), E'\n') as holders
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`
  const [row] = await database.query<{ holders: string | null }>({ name: 'lock_holders', text }, [])
  return row?.holders ?? 'sessions that have ended'
}

/** Creates a database with all migrations, which the caller closes. */
export async function createDatabase(): Promise<TestDatabase> {
  return recording(await (postgresUrl === undefined ? copyOnPGlite() : copyOnServer(postgresUrl)))
}

/** Creates an in-memory copy of PGlite's template. */
async function copyOnPGlite(): Promise<Database> {
  const pglite = await PGlite.create({ loadDataDir: await embeddedTemplate() })
  return onPGlite(pglite, null, () => Promise.resolve())
}

async function copyOnServer(url: string): Promise<Database> {
  return openPostgreSql(await createOnServer(url, await templateOn(url)), 5)
}

let filesOfTemplate: Promise<Blob> | undefined

/** Returns the files of a PGlite database with all migrations and no rows. Created once, since it takes seconds of CPU time. */
export function embeddedTemplate(): Promise<Blob> {
  return (filesOfTemplate ??= dumpTemplate())
}

async function dumpTemplate(): Promise<Blob> {
  const pglite = await PGlite.create()
  const database = onPGlite(pglite, null, () => Promise.resolve())
  await migrate(database)
  const files = await pglite.dumpDataDir('none')
  await database.close()
  return files
}

let serverTemplate: Promise<string> | undefined

/** Returns the name of a database with all migrations and no rows on a server. Created once; no session has it open. */
export function templateOn(url: string): Promise<string> {
  return (serverTemplate ??= migrateTemplate(url))
}

/** Creates the template, without autovacuum: plans then depend only on statistics that a test collects. */
async function migrateTemplate(url: string): Promise<string> {
  const own = await createOnServer(url)
  const database = await openPostgreSql(own, 2)
  await migrate(database)
  for (const name of await tablesOf(database)) {
    await database.prisma.$executeRawUnsafe(`alter table "${name}" set (autovacuum_enabled = off)`)
  }
  await database.close()
  return new URL(own).pathname.slice(1)
}

/** Creates a database without migrations, which the caller closes. */
export async function createWithoutTables(): Promise<Database> {
  return postgresUrl === undefined ? openPGlite() : openPostgreSql(await createOnServer(postgresUrl), 5)
}

/** Creates a database on a server with the ICU collation of a language (PostgreSQL 15 or newer), with all migrations. */
export async function createInLanguage(url: string, language: string): Promise<TestDatabase> {
  const own = await createOnServer(url, `template0 locale_provider icu icu_locale '${language}'`)
  return migrated(await openPostgreSql(own, 5))
}

async function migrated(database: Database): Promise<TestDatabase> {
  await migrate(database)
  return recording(database)
}

/** Runs a script of several SQL statements. */
export function runScript(database: Database, script: string): Promise<void> {
  return database.withEngineAdapter(async (adapter) => {
    const connection = await adapter.connect()
    await connection.executeScript(script)
    await connection.dispose()
  })
}

/**
 * Creates a database on a PostgreSQL server, and returns its address.
 * @param template database to copy, which no session has open; its options may follow the name
 */
export async function createOnServer(url: string, template = 'template1'): Promise<string> {
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name} template ${template}`)
  await client.end()
  return Object.assign(new URL(url), { pathname: `/${name}` }).toString()
}

/** Replaces the `read` of a database or of one of its snapshots, which is the last argument. */
export type ReadInterceptor = (
  ...args: [...Required<Parameters<VersionedReader['read']>>, reader: VersionedReader]
) => ReturnType<VersionedReader['read']>

/** Returns a database whose reads, including those of its snapshots, call an interceptor. */
export function readingBy<Given extends Database>(database: Given, read: ReadInterceptor): Given {
  const readerBy = (reader: VersionedReader): VersionedReader => ({
    read: (statement, values, signal) => read(statement, values, signal as Cancellation, reader) as Promise<never>,
  })
  return {
    ...database,
    ...withQuery(readerBy(database)),
    snapshot: (work, signal) => database.snapshot((reader) => work(readerBy(reader)), signal),
  }
}

/** Returns a database that records the names of its hot reads. */
function recording(database: Database): TestDatabase {
  let sent: string[] = []
  const recorded = readingBy(database, (statement, values, signal, reader) => {
    sent.push(statement.name)
    return reader.read(statement, values, signal)
  })
  return {
    ...recorded,
    takeStatements: () => {
      const taken = sent
      sent = []
      return taken
    },
  }
}
