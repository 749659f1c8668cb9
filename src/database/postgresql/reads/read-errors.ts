import pg from 'pg'
import { DatabaseUnavailable, isUnavailable, ReadCancelled, RecoveryConflict, recoveryConflicts } from '../../errors.ts'

/** SQLSTATE of a statement that was cancelled or exceeded `statement_timeout`. */
const queryCancelled = '57014'
/**
 * SQLSTATEs of a prepared statement that is not there, or is there already, against what the driver assumes. The driver
 * prepares a statement once: where that fails, reads that were pipelined behind it find no such statement.
 */
const unexpectedStatements: readonly unknown[] = ['26000', '42P05']

/** SQLSTATEs of a server that lacks disk space or memory for a statement: disk_full, out_of_memory. */
const insufficientResources: readonly unknown[] = ['53100', '53200']

/** Tells whether the server has cancelled the statement. */
export function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === queryCancelled
}

/** Tells whether the connection of a read is of no further use: it or its session has ended. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return isUnavailable(error)
  return toDatabaseError(error) instanceof DatabaseUnavailable
}

/** Tells whether the prepared statements of a connection are not those that the driver assumes. */
export function isUnexpectedStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && unexpectedStatements.includes(error.code)
}

/**
 * Converts an error of the driver: an error that is neither an answer of the server nor a bug of this process is about
 * the connection.
 */
export function toDatabaseError(error: unknown): unknown {
  if (error instanceof ReadCancelled || error instanceof TypeError || error instanceof RangeError) return error
  if (error instanceof DatabaseUnavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new DatabaseUnavailable(error)
  if (isCancelled(error)) return new ReadCancelled(error)
  if (recoveryConflicts.includes(error.code ?? '')) return new RecoveryConflict(error)
  const isTemporary = isUnavailable(error) || insufficientResources.includes(error.code)
  return isTemporary ? new DatabaseUnavailable(error) : error
}
