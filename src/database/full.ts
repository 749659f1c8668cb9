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
