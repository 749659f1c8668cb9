import type { EventEmitter } from 'node:events'
import pg from 'pg'

/** Properties of the driver's client that its types lack. */
interface Session {
  readonly host: string
  readonly port: number
  readonly ssl: unknown
  readonly sslNegotiation: unknown
  /** Id of the server's process, and the secret that it sent to this client only; behind PgBouncer, those of PgBouncer. */
  readonly processID: number
  readonly secretKey: number
}

/** Methods of the driver's connection that its types lack. */
interface CancelConnection extends EventEmitter, Pick<pg.Connection, 'stream'> {
  connect(portOrPath: number | string, host?: string): void
  requestSsl(): void
  cancel(processID: number, secretKey: number): void
}

/**
 * Requests the server to cancel the statement that a client runs, by a CancelRequest of the protocol: unlike `pg_cancel_backend`
 * it takes no connection slot, works through PgBouncer, and cannot cancel a statement of another server.
 * @param milliseconds time limit, after which the connection of the request is closed
 * @returns whether it was sent; resolves when the server has handled the request and closed the connection
 * @see PostgreSQL documentation, "Message Flow", section "Canceling Requests in Progress"
 */
export function sendCancelRequest(client: pg.PoolClient, milliseconds: number): Promise<boolean> {
  const { host, port, ssl, sslNegotiation, processID, secretKey } = client as unknown as Session
  const connection = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as CancelConnection
  let isSent = false
  const send = (): void => {
    isSent = true
    connection.cancel(processID, secretKey)
  }
  return new Promise((resolve) => {
    const late = setTimeout(() => connection.stream.destroy(), milliseconds)
    connection
      .on('connect', () => {
        if (ssl === false) send()
        else if (sslNegotiation !== 'direct') connection.requestSsl()
      })
      .on('sslconnect', send)
      .on('error', () => undefined)
      .on('end', () => {
        clearTimeout(late)
        resolve(isSent)
      })
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
}
