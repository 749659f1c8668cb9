import {
  isDriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQueryable,
} from '@prisma/driver-adapter-utils'
import { DatabaseFull } from './full.ts'
import { DatabaseUnavailable, isUnavailable } from './unavailable.ts'

/** What Prisma says of a transaction that it could not begin in time, or that was not over in time. */
const transactionExpired = 'P2028'
const diskFull = '53100'
const outOfMemory = '53200'
/** Kinds of trouble for which the driver's adapter keeps no SQLSTATE, for there is none. */
const ofConnection: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout']

/** Whether the database is at fault, and not what was asked of it: the same may succeed later. */
export function isOutage(error: unknown): error is Error {
  if (error instanceof DatabaseUnavailable || error instanceof DatabaseFull) return true
  return (error as { code?: unknown }).code === transactionExpired
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
    tell(connection, outageOf)
    const start = connection.startTransaction.bind(connection)
    connection.startTransaction = async (isolation) => {
      const transaction = await told(start(isolation), outageOf)
      tell(transaction, outageOf)
      return transaction
    }
    return connection
  }
  return { provider, adapterName, connect, connectToShadowDb: () => factory.connectToShadowDb() }
}

function tell(queryable: SqlQueryable, outageOf: OutageOf): void {
  const query = queryable.queryRaw.bind(queryable)
  const execute = queryable.executeRaw.bind(queryable)
  queryable.queryRaw = (statement) => told(query(statement), outageOf, () => abandon(queryable))
  queryable.executeRaw = (statement) => told(execute(statement), outageOf, () => abandon(queryable))
}

async function told<Result>(work: Promise<Result>, outageOf: OutageOf, onLost?: () => void): Promise<Result> {
  try {
    return await work
  } catch (error) {
    const outage = outageOf(error)
    if (outage instanceof DatabaseUnavailable) onLost?.()
    throw outage ?? error
  }
}

/** Outages of a PostgreSQL server. */
export function ofServer(host: string): OutageOf {
  const ofRoom = ofPlace(`at ${host}`)
  return (error) => {
    // What isn't the server's own word is of the connection to it, unless this code is at fault.
    if (!isDriverAdapterError(error)) return isFault(error) ? null : new DatabaseUnavailable(error)
    const { kind, originalCode: code } = error.cause
    if (ofConnection.includes(kind) || isUnavailable({ code })) return new DatabaseUnavailable(error)
    return ofRoom(error)
  }
}

/** Outages of an embedded database, whose only one is want of room. */
export function ofFolder(folder: string): OutageOf {
  return ofPlace(`in ${folder}`)
}

function ofPlace(where: string): OutageOf {
  return (error) => {
    const code = isDriverAdapterError(error) ? error.cause.originalCode : undefined
    if (code === diskFull) return new DatabaseFull('disk', where, error)
    return code === outOfMemory ? new DatabaseFull('memory', where, error) : null
  }
}

function isFault(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError
}

/**
 * A statement that has no answer may still run, and the transaction around it may hold its locks: the connection is cut,
 * so that the server ends them, and nobody is given it again.
 */
function abandon(queryable: SqlQueryable): void {
  const { client } = queryable as { client?: { connection?: { stream: { destroy(): void } } } }
  client?.connection?.stream.destroy()
}
