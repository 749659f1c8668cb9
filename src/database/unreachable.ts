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
