import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import type { Cancellation } from '../../src/database/cancellation.ts'
import type { Database, Statement, VersionedReader } from '../../src/database/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { onPGlite, openPGlite } from '../../src/database/pglite/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { withQuery } from '../../src/database/read-chain.ts'

/** The engine that the suite runs on: PGlite, or the PostgreSQL at this address, in databases of its own. */
export const postgresUrl = process.env['TEST_DATABASE_URL']

/** A database that counts the hot reads sent to it. */
export interface TestDatabase extends Database {
  /** Names of the statements sent since the last time this was asked. */
  takeStatements(): string[]
}

let shared: Promise<TestDatabase> | undefined

/** This process's database, with all migrations and no rows. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const database = await (shared ??= createDatabase())
  await empty(database)
  database.takeStatements()
  return database
}

/**
 * Takes all rows out. Reads of an earlier test may still run: they are waited for, and a deadlock with them is retried.
 * @throws {Error} with the statements that hold the locks, when these are not released; their sessions are ended
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

/** Names of all tables but that of the migrations. */
async function tablesOf(database: Database): Promise<string[]> {
  const text = `select tablename::text as name from pg_tables where schemaname = 'public' and tablename <> '_prisma_migrations'`
  const tables = await database.query<{ name: string }>({ name: 'tables', text }, [])
  return tables.map(({ name }) => name)
}

/** The SQLSTATE of an error, or of its cause. */
function codeOf(error: unknown): unknown {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return code ?? (cause === undefined ? undefined : codeOf(cause))
}

/** Ends all other sessions of the database that are in a transaction, and returns their last statements. */
async function endLockHolders(database: Database): Promise<string> {
  const text = `
    select string_agg(concat_ws(' ', pid, state, now() - xact_start, query, pg_terminate_backend(pid)), E'\n') as holders
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`
  const [row] = await database.query<{ holders: string | null }>({ name: 'lock_holders', text }, [])
  return row?.holders ?? 'no session that is still there'
}

/** A new database with all migrations, which the caller closes. */
export async function createDatabase(): Promise<TestDatabase> {
  return counting(await (postgresUrl === undefined ? copyEmbedded() : copyOnServer(postgresUrl)))
}

/** A copy of the template in memory. */
async function copyEmbedded(): Promise<Database> {
  const pglite = await PGlite.create({ loadDataDir: await embeddedTemplate() })
  return onPGlite(pglite, null, () => Promise.resolve())
}

async function copyOnServer(url: string): Promise<Database> {
  return openPostgreSql(await createOnServer(url, await templateOn(url)), 5)
}

let filesOfTemplate: Promise<Blob> | undefined

/** All files of an embedded database with all migrations and no rows, made once: to make one takes seconds of CPU time. */
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

/** The name of a database with all migrations and no rows on the suite's server, made once; nobody has it open. */
export function templateOn(url: string): Promise<string> {
  return (serverTemplate ??= migrateTemplate(url))
}

/** Without autovacuum: a plan depends on the statistics that a test makes, and not on when the server made its own. */
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

/** A new database without any migration, which the caller closes. */
export async function createWithoutTables(): Promise<Database> {
  return postgresUrl === undefined ? openPGlite() : openPostgreSql(await createOnServer(postgresUrl), 5)
}

/** A new database on the server at this address, whose texts are in the order of a language (PostgreSQL 15 or newer). */
export async function createInLanguage(url: string, language: string): Promise<TestDatabase> {
  const own = await createOnServer(url, `template0 locale_provider icu icu_locale '${language}'`)
  return migrated(await openPostgreSql(own, 5))
}

async function migrated(database: Database): Promise<TestDatabase> {
  await migrate(database)
  return counting(database)
}

/** Runs SQL of several statements, as a migration is run. */
export function runScript(database: Database, script: string): Promise<void> {
  return database.withEngineAdapter(async (adapter) => {
    const connection = await adapter.connect()
    await connection.executeScript(script)
    await connection.dispose()
  })
}

/** The address of a new database on a PostgreSQL server: empty, or a copy of another that nobody has open. */
export async function createOnServer(url: string, template = 'template1'): Promise<string> {
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name} template ${template}`)
  await client.end()
  return Object.assign(new URL(url), { pathname: `/${name}` }).toString()
}

/** Reads in place of a reader of a database, or of one of its snapshots. */
export type ReadInstead = (
  ...asked: [...Required<Parameters<VersionedReader['read']>>, reader: VersionedReader]
) => ReturnType<VersionedReader['read']>

/** A database whose reads, those of its snapshots too, go another way. */
export function readingBy<Given extends Database>(database: Given, read: ReadInstead): Given {
  const readerBy = (reader: VersionedReader): VersionedReader => ({
    read: (statement, values, signal) => read(statement, values, signal as Cancellation, reader) as Promise<never>,
  })
  return {
    ...database,
    ...withQuery(readerBy(database)),
    snapshot: (work, signal) => database.snapshot((reader) => work(readerBy(reader)), signal),
  }
}

function counting(database: Database): TestDatabase {
  let sent: string[] = []
  const counted = readingBy(database, (statement, values, signal, reader) => {
    sent.push(statement.name)
    return reader.read(statement, values, signal)
  })
  return {
    ...counted,
    takeStatements: () => {
      const taken = sent
      sent = []
      return taken
    },
  }
}
