import { isDriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** A read that was given up before its end: nobody waits for it any more, or it took too long. */
export class ReadCancelled extends Error {
  constructor(cause?: unknown) {
    super('The read was cancelled.', { cause })
    this.name = 'ReadCancelled'
  }
}

/** The database has no room for more. What is committed stays, and it goes on where there is room again. */
export class DatabaseFull extends Error {
  constructor(
    readonly what: 'disk' | 'memory',
    /** Such as `in /data`, or `at host:5432`. */
    readonly where: string,
    cause?: unknown,
  ) {
    super(`The database ${where} has too little ${what} left: make room there.`, { cause })
    this.name = 'DatabaseFull'
  }
}

/** No PostgreSQL answers at the address it should be at. */
export class DatabaseUnreachable extends Error {
  constructor(
    /** Host and port, without user or password. */
    readonly host: string,
    reason: string,
  ) {
    super(`PostgreSQL at ${host} can't be used: ${reason}. Check DATABASE_URL, and that the server accepts it.`)
    this.name = 'DatabaseUnreachable'
  }
}

/** What another writer has done meanwhile stands against this transaction: tried again, it sees it. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict'
}

/** SQLSTATEs that tell a transaction to try again: serialization failure, deadlock, unique violation. */
const conflicts = ['40001', '40P01', '23505']

/** Whether a transaction failed because another one wrote the same at once, so that trying again may succeed. */
export function isConflict(error: unknown): boolean {
  return error instanceof WriteConflict || conflicts.includes((error as { code?: string }).code ?? '')
}

/** The database doesn't answer now; it may later. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown, message = 'The database does not answer now.') {
    super(message, { cause })
    this.name = 'DatabaseUnavailable'
  }
}

/** The server takes no writes now: a standby, or one that is read-only to this role. Behind its address may be another later. */
export class DatabaseReadOnly extends DatabaseUnavailable {
  constructor(host: string, cause: unknown) {
    super(cause, `PostgreSQL at ${host} is read-only: a standby, or default_transaction_read_only is on.`)
    this.name = 'DatabaseReadOnly'
  }
}

/** A standby has ended a read, or its connection, to replay what the read would have seen change: asked again it runs. */
export class RecoveryConflict extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause)
    this.name = 'RecoveryConflict'
  }
}

/** SQLSTATEs by which a standby ends a read: serialization failure, deadlock with the replay. */
export const recoveryConflicts: readonly string[] = ['40001', '40P01']

/** SQLSTATEs of a server that starts, stops or is full: the operator's, a crash's, a dropped database, too many clients. */
const serverStates = ['57P01', '57P02', '57P03', '57P04', '53300']
/** SQLSTATEs of the class "connection exception". */
const connectionClass = '08'

/** Whether an error says that the database can't be reached now, so that the same may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: readonly unknown[] }
  // Where a name has several addresses, each fails with an error of its own.
  if (error instanceof AggregateError && errors !== undefined) return errors.some(isUnavailable)
  if (typeof syscall === 'string') return true
  return typeof code === 'string' && (serverStates.includes(code) || code.startsWith(connectionClass))
}

/** The database answers, and doesn't let this role do what the gateway needs. */
export class DatabaseRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'DatabaseRefused'
  }
}

const readOnlyTransaction = '25006'
/** Insufficient privilege; no schema in which tables could be made. */
const notAllowed: readonly string[] = ['42501', '3F000']

/** The server's word that a role may not do something; null for every other error. */
export function refusalIn(error: unknown): { readonly isReadOnly: boolean; readonly reason: string } | null {
  const { code, severity, message, cause } = error as RefusingError
  // Prisma's adapter keeps the server's code and message in its cause.
  const state = severity === undefined ? cause?.originalCode : code
  const isReadOnly = state === readOnlyTransaction
  if (!isReadOnly && !notAllowed.includes(state ?? '')) return null
  return { isReadOnly, reason: cause?.originalMessage ?? message }
}

interface RefusingError {
  readonly code?: string
  readonly severity?: unknown
  readonly message: string
  readonly cause?: { readonly originalCode?: string; readonly originalMessage?: string }
}

const diskFull = '53100'
const outOfMemory = '53200'
/** Kinds of trouble for which the driver's adapter keeps no SQLSTATE, for there is none. */
const ofConnection: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout']

/** Whether the database is at fault, and not what was asked of it: the same may succeed later. */
export function isOutage(error: unknown): error is Error {
  return error instanceof DatabaseUnavailable || error instanceof DatabaseFull
}

/** The outage that an error of the adapter tells of; null where it is the statement's. */
export type OutageOf = (error: unknown) => Error | null

/**
 * An adapter that tells outages from errors of a statement. Prisma hands on both, some with a code of its own, some as
 * they come from the driver, which has none for a connection that broke.
 */
export function tellingOutages(
  factory: SqlMigrationAwareDriverAdapterFactory,
  outageOf: OutageOf,
): SqlMigrationAwareDriverAdapterFactory {
  const { provider, adapterName } = factory
  const connect = async () => {
    const connection = await factory.connect()
    const query = connection.queryRaw.bind(connection)
    const execute = connection.executeRaw.bind(connection)
    connection.queryRaw = (statement) => told(query(statement), outageOf)
    connection.executeRaw = (statement) => told(execute(statement), outageOf)
    return connection
  }
  return { provider, adapterName, connect, connectToShadowDb: () => factory.connectToShadowDb() }
}

/** @throws the outage in place of the error that tells of it */
export async function told<Result>(work: Promise<Result>, outageOf: OutageOf): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw outageOf(error) ?? error
  }
}

const grant = 'GRANT its role SELECT, INSERT, UPDATE, DELETE ON ALL TABLES and USAGE ON ALL SEQUENCES IN SCHEMA public.'

/** Outages of a PostgreSQL server, and what it refuses. */
export function ofServer(host: string): OutageOf {
  const ofRoom = ofPlace(`at ${host}`)
  return (error) => {
    if (isOutage(error) || error instanceof DatabaseRefused) return error
    const refusal = refusalIn(error)
    // After a failover a connection may lead to what is a standby now: it is given up, and the next one may not.
    if (refusal?.isReadOnly === true) return new DatabaseReadOnly(host, error)
    if (refusal !== null)
      return new DatabaseRefused(`PostgreSQL at ${host} refuses: ${refusal.reason}. ${grant}`, error)
    const isAway = isOfConnection(error) || isUnavailable({ code: stateOf(error) })
    return isAway ? new DatabaseUnavailable(error) : ofRoom(error)
  }
}

/** Outages of an embedded database, whose only one is want of room. */
export function ofFolder(folder: string): OutageOf {
  return ofPlace(`in ${folder}`)
}

function ofPlace(where: string): OutageOf {
  return (error) => {
    const code = stateOf(error)
    if (code === diskFull) return new DatabaseFull('disk', where, error)
    return code === outOfMemory ? new DatabaseFull('memory', where, error) : null
  }
}

/** The SQLSTATE that the database itself has answered with, as the driver or Prisma's adapter of it tells. */
function stateOf(error: unknown): string | undefined {
  if (isDriverAdapterError(error)) return error.cause.originalCode
  const { code, severity } = error as { code?: string; severity?: unknown }
  return severity === undefined ? undefined : code
}

/** What isn't the server's own word is of the connection to it, unless this code is at fault. */
function isOfConnection(error: unknown): boolean {
  if (isDriverAdapterError(error)) return ofConnection.includes(error.cause.kind)
  return stateOf(error) === undefined && !(error instanceof TypeError || error instanceof RangeError)
}
