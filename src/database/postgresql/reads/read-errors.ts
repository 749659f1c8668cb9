import pg from 'pg'
import { refusalOfRead } from '../../driver-errors.ts'
import { DatabaseUnavailable, isUnavailable, ReadCancelled, RecoveryConflict, recoveryConflicts } from '../../errors.ts'

/** SQLSTATE of a statement that was cancelled or exceeded `statement_timeout`. */
const queryCancelled = '57014'
/**
 * SQLSTATEs of a prepared statement that is missing, or exists already, contrary to the state of the driver. The driver
 * prepares a statement once: where that fails, reads that were pipelined after it find no such statement.
 */
const unexpectedStatements: readonly unknown[] = ['26000', '42P05']

/**
 * SQLSTATEs of a statement that may succeed later: the server lacks disk space or memory for it, or allows it no more of them, or
 * no longer wait for a lock (disk_full, out_of_memory, configuration_limit_exceeded by `temp_file_limit`, lock_not_available by the
 * `lock_timeout` of a role).
 */
const temporaryFailures: readonly unknown[] = ['53100', '53200', '53400', '55P03']

/** Returns whether the server has cancelled the statement. */
export function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === queryCancelled
}

/** Returns whether the connection of a read is unusable: it or its session has ended. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return isUnavailable(error)
  return toDatabaseError(error) instanceof DatabaseUnavailable
}

/** Returns whether the prepared statements of a connection differ from the state of the driver. */
export function isUnexpectedStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && unexpectedStatements.includes(error.code)
}

/**
 * Converts an error of the driver: an error that is neither reported by the server nor a bug of this process is an error
 * of the connection.
 */
export function toDatabaseError(error: unknown): unknown {
  if (error instanceof ReadCancelled || error instanceof TypeError || error instanceof RangeError) return error
  if (error instanceof DatabaseUnavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new DatabaseUnavailable(error)
  if (isCancelled(error)) return new ReadCancelled(error)
  if (recoveryConflicts.includes(error.code ?? '')) return new RecoveryConflict(error)
  const refusal = refusalOfRead(error)
  if (refusal !== null) return refusal
  const isTemporary = isUnavailable(error) || temporaryFailures.includes(error.code)
  return isTemporary ? new DatabaseUnavailable(error) : error
}
