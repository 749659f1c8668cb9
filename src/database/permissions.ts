import type { Cancellation } from './cancellation.ts'
import type { Database } from './database.ts'
import { permissionDenial } from './driver-errors.ts'
import { DatabaseRefused } from './errors.ts'
import { Prisma } from './prisma/generated/client/client.ts'

const tables = Object.values(Prisma.ModelName).map((model) => model.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase())

/** Returns whether the server rejects writes of this role: a standby, or one that is read-only by configuration. */
export async function isReadOnly({ prisma }: Pick<Database, 'prisma'>): Promise<boolean> {
  const text = `select current_setting('transaction_read_only') = 'on' as "isReadOnly"`
  const [answer] = await prisma.$queryRawUnsafe<{ isReadOnly: boolean }[]>(text)
  return answer?.isReadOnly === true
}

/** Returns the names of the tables that this role may not read, such as one that a migration of another role has added. */
export async function unreadableTables(database: Pick<Database, 'query'>, signal?: Cancellation): Promise<string[]> {
  const text = `select name from unnest($1::text[]) as list(name)
    where not has_any_column_privilege(to_regclass(name), 'SELECT')`
  const found = await database.query<{ name: string }>({ name: 'unreadable_tables', text }, [tables], signal)
  return found.map(({ name }) => name)
}

/** Returns an error that explains why migrations cannot be applied to a read-only server, and the remedy. */
export async function refusalOfReadOnly(database: Pick<Database, 'query'>): Promise<DatabaseRefused> {
  const { role, lacking, standby } = await sessionOf(database)
  const remedy = standby
    ? ' and is a standby: start this version with its primary first, or let DATABASE_URL name that.'
    : `, and is read-only to the role "${role}": start once with a role that may write (default_transaction_read_only=off).`
  return new DatabaseRefused(`${lacking}${remedy}`)
}

/**
 * Returns an error that explains why a role cannot apply migrations, and the remedy.
 * @returns null where permissions are not the cause
 */
export async function refusalOfMigrations(
  database: Pick<Database, 'query'>,
  error: unknown,
): Promise<DatabaseRefused | null> {
  // A read is refused with the server's error as the cause.
  const refusal = permissionDenial(error instanceof DatabaseRefused ? (error.cause ?? error) : error)
  if (refusal === null) return null
  const { role, name } = await sessionOf(database)
  const remedy =
    `start once with the role that owns the database and its tables, then GRANT SELECT (and INSERT, UPDATE, DELETE, USAGE ON ALL SEQUENCES to one ` +
    `that applies facts) ON ALL TABLES IN SCHEMA public TO "${role}"; or GRANT CREATE ON SCHEMA public TO "${role}" where it is empty`
  return new DatabaseRefused(
    `The role "${role}" can't migrate the database "${name}", or read which migrations it has: ${refusal.reason}. To mend it, ${remedy}.`,
    error,
  )
}

interface Session {
  readonly role: string
  readonly name: string
  readonly lacking: string
  readonly standby: boolean
}

async function sessionOf(database: Pick<Database, 'query'>): Promise<Session> {
  const text = 'select current_user::text as role, current_database()::text as name, pg_is_in_recovery() as standby'
  const [session] = await database.query<Omit<Session, 'lacking'>>({ name: 'session', text }, [])
  const { role = '', name = '', standby = false } = session ?? {}
  return { role, name, standby, lacking: `The database "${name}" lacks migrations of this version` }
}
