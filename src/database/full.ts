/** The database has no room for more. What is committed stays, and it goes on where there is room again. */
export class DatabaseFull extends Error {
  constructor(
    readonly what: 'disk' | 'memory',
    /** Of which folder, or which server. */
    readonly where: string,
    cause: unknown,
  ) {
    super(`The database has no ${what} left: make room on ${where}.`, { cause })
    this.name = 'DatabaseFull'
  }
}
