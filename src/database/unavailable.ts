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
const ofServer = ['57P01', '57P02', '57P03', '57P04', '53300']
/** SQLSTATEs of the class "connection exception". */
const ofConnection = '08'

/** Whether an error says that the database can't be reached now, so that the same may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: readonly unknown[] }
  // Where a name has several addresses, each fails with an error of its own.
  if (error instanceof AggregateError && errors !== undefined) return errors.some(isUnavailable)
  if (typeof syscall === 'string') return true
  return typeof code === 'string' && (ofServer.includes(code) || code.startsWith(ofConnection))
}
