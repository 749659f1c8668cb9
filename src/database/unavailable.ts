/** The database doesn't answer now; it may later. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super('The database does not answer now.', { cause })
    this.name = 'DatabaseUnavailable'
  }
}

/** SQLSTATEs of a server that starts, stops or is full: the operator's, a crash's, too many connections. */
const ofServer = ['57P01', '57P02', '57P03', '53300']
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
