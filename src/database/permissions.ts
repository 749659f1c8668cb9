import type { Cancellation } from './cancellation.ts'
import type { Database } from './database.ts'
import { permissionDenial, quoteIdentifier } from './driver-errors.ts'
import { DatabaseRefused } from './errors.ts'
import { Prisma } from './prisma/generated/client/client.ts'

const tables = Object.values(Prisma.ModelName).map((model) => model.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase())

/** SQL of the schema in which the search path finds the tables, or else of its first one, in which migrations create them. */
export const schemaOfTables = `coalesce(
  (select nspname from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = to_regclass('feed')),
  current_schema())::text`

/** SQL of the first schema of the search path that exists, also where the role may not use it. */
const firstOfPath = `(select nspname::text from unnest(string_to_array(current_setting('search_path'), ',')) with ordinality as path(name, place)
  join pg_namespace on nspname = case btrim(name) when '"$user"' then current_user else btrim(name, ' "') end order by place limit 1)`

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

/** Code of the schema engine's error for a schema that has tables, and no record of migrations. */
const schemaNotEmpty = 'P3005'

/**
 * Returns an error that explains why a role cannot apply migrations, or why a database cannot have them, and the remedy.
 * @returns null where neither permissions nor other tables are the cause
 */
export async function refusalOfMigrations(
  database: Pick<Database, 'query'>,
  error: unknown,
): Promise<DatabaseRefused | null> {
  // A read is refused with the server's error as the cause.
  const refusal = permissionDenial(error instanceof DatabaseRefused ? (error.cause ?? error) : error)
  const hasOtherTables = (error as { code?: unknown }).code === schemaNotEmpty
  if (refusal === null && !hasOtherTables) return null
  const { role, name, schema } = await sessionOf(database)
  if (refusal === null) {
    const remedy = `let DATABASE_URL name an empty database, or the search_path of "${role}" an empty schema`
    return new DatabaseRefused(
      `The schema ${schema} of the database "${name}" has tables of another program: ${remedy}.`,
      error,
    )
  }
  const remedy =
    `start once with the role that owns the database and its tables, then GRANT SELECT (and INSERT, UPDATE, DELETE, USAGE ON ALL SEQUENCES to one ` +
    `that applies facts) ON ALL TABLES IN SCHEMA ${schema}, and USAGE ON SCHEMA ${schema}, TO "${role}"; or GRANT CREATE ON SCHEMA ${schema} TO "${role}" where it is empty`
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
  /** The schema of the tables, as SQL has it. */
  readonly schema: string
}

async function sessionOf(database: Pick<Database, 'query'>): Promise<Session> {
  const text = `select current_user::text as role, current_database()::text as name, pg_is_in_recovery() as standby,
    coalesce(${schemaOfTables}, ${firstOfPath}) as schema`
  const [session] = await database.query<Omit<Session, 'lacking'>>({ name: 'session', text }, [])
  const { role = '', name = '', standby = false } = session ?? {}
  const schema = quoteIdentifier(session?.schema ?? 'public')
  return { role, name, standby, schema, lacking: `The database "${name}" lacks migrations of this version` }
}
