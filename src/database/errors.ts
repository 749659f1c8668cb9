/** A read that was cancelled by its request, or exceeded the statement timeout. */
export class ReadCancelled extends Error {
  constructor(cause?: unknown) {
    super('The read was cancelled.', { cause })
    this.name = 'ReadCancelled'
  }
}

/** The disk or memory of the database is full. Committed data is safe, and work continues once there is space. */
export class DatabaseFull extends Error {
  constructor(
    readonly what: 'disk' | 'memory',
    /** Location of the database, such as `in /data` or `at host:5432`. */
    readonly where: string,
    cause?: unknown,
  ) {
    super(`The database ${where} has too little ${what} left: make room there.`, { cause })
    this.name = 'DatabaseFull'
  }
}

/** The PostgreSQL server cannot be used at its address. */
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

/** A concurrent transaction conflicts with this one: a retry sees its result. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict'
}

/**
 * SQLSTATEs after which a transaction should be retried: serialization failure, deadlock, unique violation.
 * @see PostgreSQL documentation, "PostgreSQL Error Codes"
 */
const conflicts = ['40001', '40P01', '23505']

/** Returns whether a transaction inserted a row that exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: string }).code === '23505'
}

/** Returns whether a transaction failed because of a concurrent one, so that a retry may succeed. */
export function isConflict(error: unknown): boolean {
  return error instanceof WriteConflict || conflicts.includes((error as { code?: string }).code ?? '')
}

/** The database does not answer now, but may answer later. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown, message = 'The database does not answer now.') {
    super(message, { cause })
    this.name = 'DatabaseUnavailable'
  }
}

/** A connection was accepted, and its first statement not answered: PgBouncer has no session of the server left for it. */
export class SessionNotGiven extends DatabaseUnavailable {
  constructor(milliseconds: number) {
    super(
      undefined,
      `The database gave a new connection no session within ${milliseconds / 1000} s: it may have none left.`,
    )
    this.name = 'SessionNotGiven'
  }
}

/**
 * The server rejects writes: it is a standby, or read-only for this role. After a failover the same address may accept
 * them.
 */
export class DatabaseReadOnly extends DatabaseUnavailable {
  constructor(host: string, cause: unknown) {
    super(cause, `PostgreSQL at ${host} is read-only: a standby, or default_transaction_read_only is on.`)
    this.name = 'DatabaseReadOnly'
  }
}

/**
 * A standby cancelled a read or closed its connection, because replay of the primary's changes conflicts with the read.
 * A retry succeeds.
 * @see PostgreSQL documentation, "Hot Standby", section "Handling Query Conflicts"
 */
export class RecoveryConflict extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause)
    this.name = 'RecoveryConflict'
  }
}

/** SQLSTATEs of a recovery conflict: serialization failure, deadlock with replay. */
export const recoveryConflicts: readonly string[] = ['40001', '40P01']

/** Severities of an error that ends its session: another session may succeed. Servers may translate them. */
const fatal: readonly unknown[] = ['FATAL', 'PANIC']
/**
 * SQLSTATEs of a server that starts, stops or is at its limit, or ends a session: admin shutdown, crash shutdown, cannot
 * connect now, database dropped, too many connections; idle session timeout, idle in transaction session timeout, transaction
 * timeout.
 */
const serverStates = ['57P01', '57P02', '57P03', '57P04', '53300', '57P05', '25P03', '25P04']
/** SQLSTATE classes of connection exceptions, and of a role that the server rejects until it is changed. */
const connectionClasses = ['08', '28']

/** Returns whether an error means that the database cannot be reached now, so that a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  const { code, syscall, errors, severity } = error as ErrorFields
  // A host name with several addresses yields an error for each of them.
  if (error instanceof AggregateError && errors !== undefined) return errors.some(isUnavailable)
  if (typeof syscall === 'string') return true
  if (fatal.includes(severity)) return true
  return typeof code === 'string' && (serverStates.includes(code) || connectionClasses.includes(code.slice(0, 2)))
}

interface ErrorFields {
  readonly code?: unknown
  readonly syscall?: unknown
  readonly errors?: readonly unknown[]
  readonly severity?: unknown
}

/** The database lacks permissions, tables or columns that the gateway needs, or rejects its role. */
export class DatabaseRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'DatabaseRefused'
  }
}

/** Returns whether the database is at fault and not the request, so that a retry may succeed. */
export function isOutage(error: unknown): error is Error {
  return error instanceof DatabaseUnavailable || error instanceof DatabaseFull
}
