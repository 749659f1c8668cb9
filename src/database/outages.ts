import { isDriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { DatabaseFull } from './full.ts'
import { DatabaseRefused, refusalIn } from './refused.ts'
import { DatabaseReadOnly, DatabaseUnavailable, isUnavailable } from './unavailable.ts'

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
