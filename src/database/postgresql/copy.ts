import pg from 'pg'

/** Methods of the driver's connection that its types lack. */
interface CopyConnection extends pg.Connection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/**
 * Sends rows immediately after the COPY statement, without waiting for the server's CopyInResponse, so that it can be
 * pipelined. A server that rejects the COPY ignores the rows.
 * @see PostgreSQL documentation, "Message Flow", section "COPY Operations"
 */
class Copy extends pg.Query {
  readonly #rows: Buffer

  constructor(text: string, rows: string, done: (error: Error | undefined) => void) {
    super(text, done)
    this.#rows = Buffer.from(rows)
    this.submit = (connection) => {
      connection.query(text)
      const copying = connection as CopyConnection
      copying.sendCopyFromChunk(this.#rows)
      copying.endCopyFrom()
    }
  }

  /** Overrides the driver's method, which cancels a COPY here. */
  handleCopyInResponse(): void {
    return
  }
}

/**
 * Appends rows by COPY.
 * @param client with or without pipelining
 * @param text `copy … from stdin`
 * @param rows in COPY's text format
 */
export function copyRows(client: pg.PoolClient, text: string, rows: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null | undefined): void => (error == null ? resolve() : reject(error))
    client.query(new Copy(text, rows, done))
  })
}
