import { isDriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import {
  DatabaseFull,
  DatabaseReadOnly,
  DatabaseRefused,
  DatabaseUnavailable,
  isOutage,
  isUnavailable,
} from './errors.ts'

const readOnlyTransaction = '25006'
/** SQLSTATEs of missing permissions: insufficient privilege, invalid schema name (no schema to create tables in). */
const missingPermissions: readonly string[] = ['42501', '3F000']

/**
 * Extracts the server's reason for denying an operation.
 * @returns null for any other error
 */
export function permissionDenial(error: unknown): { readonly isReadOnly: boolean; readonly reason: string } | null {
  const { code, severity, message, cause } = error as RefusingError
  // Prisma's driver adapter keeps the server's code and message in the error's cause.
  const state = severity === undefined ? cause?.originalCode : code
  const isReadOnly = state === readOnlyTransaction
  if (!isReadOnly && !missingPermissions.includes(state ?? '')) return null
  return { isReadOnly, reason: cause?.originalMessage ?? message }
}

interface RefusingError {
  readonly code?: string
  readonly severity?: unknown
  readonly message: string
  readonly cause?: { readonly originalCode?: string; readonly originalMessage?: string }
}

/**
 * SQLSTATEs of a server that does not let a role into a database: invalid authorization, wrong password, no such database,
 * insufficient privilege.
 */
const rejections: readonly string[] = ['28000', '28P01', '3D000', '42501']

function rejectedMessage(host: string, reason: string): string {
  return `PostgreSQL at ${host} rejects the connection: ${reason}.`
}

/**
 * SQLSTATEs of a timeout that has ended a session: idle session, idle transaction, transaction. The message names the timeout,
 * because a batch that always takes longer never succeeds.
 */
const timeLimits: readonly string[] = ['57P05', '25P03', '25P04']

/** Returns the message of an outage, for operators: names the server, and its reason or that of the driver. */
function outageMessage(host: string, error: unknown): string {
  const { code, message } = answerOf(error)
  if (code !== undefined && rejections.includes(code)) return rejectedMessage(host, message)
  if (code !== undefined && timeLimits.includes(code)) return `PostgreSQL at ${host} has ended the session: ${message}.`
  // A refused connection to several addresses of one host name has a code but no message.
  const reason = message === '' ? String((error as { code?: unknown }).code) : message
  return `PostgreSQL at ${host} does not answer now: ${reason}.`
}

const diskFull = '53100'
const outOfMemory = '53200'
/** Kinds of driver adapter errors that have no SQLSTATE, because the connection failed. */
const connectionErrorKinds: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout']

/**
 * Converts an error of the driver or its adapter into an outage error; returns null for an error of the statement
 * itself.
 */
export type ToOutage = (error: unknown) => Error | null

/**
 * Wraps a driver adapter so that it throws outage errors. Prisma forwards some driver errors with a Prisma code, and some
 * unchanged, without a code for a broken connection.
 */
export function adapterWithOutages(
  factory: SqlMigrationAwareDriverAdapterFactory,
  toOutage: ToOutage,
): SqlMigrationAwareDriverAdapterFactory {
  const { provider, adapterName } = factory
  const connect = async () => {
    const connection = await factory.connect()
    const query = connection.queryRaw.bind(connection)
    const execute = connection.executeRaw.bind(connection)
    connection.queryRaw = (statement) => rejectWithOutage(query(statement), toOutage)
    connection.executeRaw = (statement) => rejectWithOutage(execute(statement), toOutage)
    return connection
  }
  return { provider, adapterName, connect, connectToShadowDb: () => factory.connectToShadowDb() }
}

/**
 * Settles with the work, with driver errors replaced by outage errors.
 * @throws the outage error where `toOutage` returns one
 */
export async function rejectWithOutage<Result>(work: Promise<Result>, toOutage: ToOutage): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw toOutage(error) ?? error
  }
}

/** Returns the grants of a role that applies facts. */
function grantsIn(schema: string): string {
  const name = quoteIdentifier(schema)
  return (
    'GRANT its role SELECT, INSERT, UPDATE, DELETE ON ALL TABLES and USAGE ON ALL SEQUENCES ' +
    `IN SCHEMA ${name}, and USAGE ON SCHEMA ${name}.`
  )
}

/** Returns a name as SQL has it: in quotes where it needs them. */
export function quoteIdentifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/**
 * Classifies errors of a PostgreSQL server: outages, missing permissions and read-only mode.
 * @param host host and port, for messages
 * @param schema of the tables, for messages
 */
export function classifyServerError(host: string, schema = 'public'): ToOutage {
  const classifySpace = classifySpaceError(`at ${host}`)
  return (error) => {
    if (isOutage(error) || error instanceof DatabaseRefused) return error
    const { code, severity } = answerOf(error)
    const unavailable = (): Error => new DatabaseUnavailable(error, outageMessage(host, error))
    if (isUnavailable({ code, severity })) return unavailable()
    const refusal = permissionDenial(error)
    // After a failover an old connection may lead to a standby: it is discarded, and the next connection may find the
    // primary.
    if (refusal?.isReadOnly === true) return new DatabaseReadOnly(host, error)
    if (refusal !== null)
      return new DatabaseRefused(`PostgreSQL at ${host} refuses: ${refusal.reason}. ${grantsIn(schema)}`, error)
    return isConnectionError(error) ? unavailable() : classifySpace(error)
  }
}

/** SQLSTATEs of a statement that was cancelled: by an operator or `statement_timeout`, by `lock_timeout`, or by `temp_file_limit`. */
const cancelled: readonly unknown[] = ['57014', '55P03', '53400']

/**
 * SQLSTATEs of a table, column or type that does not exist: while a backup is restored, in a backup of an older version, or where
 * the role may not use the schema.
 */
const missingParts: readonly unknown[] = ['42P01', '42703', '42704']

const restore =
  'If a backup is being restored, wait for its end; if it is of an older version, npm run migrate adds the rest; ' +
  "if the tables are in another schema, name that in the role's search_path, and GRANT it USAGE there."

/**
 * Returns the error of a statement that needs a permission which its role lacks, or a part of the database that does not exist.
 * @returns null for any other error
 */
export function refusalOfRead(error: unknown): DatabaseRefused | null {
  const { code, message } = answerOf(error)
  if (missingParts.includes(code))
    return new DatabaseRefused(`The database lacks a part: ${message}. ${restore}`, error)
  const isDenied = code !== undefined && missingPermissions.includes(code)
  return isDenied ? new DatabaseRefused(`The database refuses a read: ${message}.`, error) : null
}

/** Adds the errors of cancelled statements, which may succeed later, and of those that find a part of the database missing. */
export function classifyStatementError(toOutage: ToOutage): ToOutage {
  return (error) => {
    const { code, message } = answerOf(error)
    if (missingParts.includes(code)) return refusalOfRead(error)
    if (!cancelled.includes(code)) return toOutage(error)
    return new DatabaseUnavailable(error, `PostgreSQL has cancelled a statement: ${message}.`)
  }
}

/**
 * Classifies errors of an embedded database, whose only outage is lack of disk space or memory.
 * @param folder data directory, for messages
 */
export function classifyEmbeddedError(folder: string): ToOutage {
  return classifySpaceError(`in ${folder}`)
}

function classifySpaceError(where: string): ToOutage {
  return (error) => {
    const { code } = answerOf(error)
    if (code === diskFull) return new DatabaseFull('disk', where, error)
    return code === outOfMemory ? new DatabaseFull('memory', where, error) : null
  }
}

/** An error as the server reports it: its SQLSTATE is undefined where the server has not answered. */
interface ServerAnswer {
  readonly code: string | undefined
  readonly severity: unknown
  readonly message: string
}

/** Returns the SQLSTATE of an error of the driver or of Prisma's adapter; undefined where it is no answer of the server. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof Error ? answerOf(error).code : undefined
}

/** Extracts the error of the server from an error of the driver or of Prisma's adapter. */
function answerOf(error: unknown): ServerAnswer {
  if (isDriverAdapterError(error)) {
    const { originalCode: code, originalMessage } = error.cause
    const severity = error.cause.kind === 'postgres' ? error.cause.severity : undefined
    return { code, severity, message: originalMessage ?? error.message }
  }
  const { code, severity, message } = error as { code?: string; severity?: unknown; message: string }
  return { code: severity === undefined ? undefined : code, severity, message }
}

/** Returns whether the connection failed: the error is neither an answer of the server nor a bug of this process. */
function isConnectionError(error: unknown): boolean {
  if (isDriverAdapterError(error)) return connectionErrorKinds.includes(error.cause.kind)
  return answerOf(error).code === undefined && !(error instanceof TypeError || error instanceof RangeError)
}
