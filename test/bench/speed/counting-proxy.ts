import { connect, createServer, type AddressInfo } from 'node:net'

/** A TCP proxy in front of a PostgreSQL server, which counts the statements that pass it. */
export interface CountingProxy {
  /** Address of the database by way of the proxy. */
  readonly url: string
  /** Returns the number of statements since the last call. */
  takeCount(): number
  close(): Promise<void>
}

/**
 * Starts a proxy that counts the statements of any client: the messages Execute and Query of PostgreSQL's protocol.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export async function startCountingProxy(url: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(url)
  let count = 0
  const server = createServer((client) => {
    const database = connect(Number(port === '' ? '5432' : port), hostname)
    const read = messageReader((type) => {
      if (type === 'E' || type === 'Q') count++
    })
    client.on('data', read).pipe(database).pipe(client)
    client.on('error', () => database.destroy()).on('close', () => database.destroy())
    database.on('error', () => client.destroy()).on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(own.port) }).toString(),
    takeCount: () => {
      const taken = count
      count = 0
      return taken
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/**
 * Returns a function that splits chunks into messages, and reports the type of each: the byte before its length. The first
 * message of a connection has no type.
 */
function messageReader(onMessage: (type: string) => void): (chunk: Buffer) => void {
  let unread = Buffer.alloc(0)
  let hasBegun = false
  return (chunk) => {
    unread = Buffer.concat([unread, chunk])
    for (;;) {
      const typeBytes = hasBegun ? 1 : 0
      if (unread.length < typeBytes + 4) return
      const length = typeBytes + unread.readInt32BE(typeBytes)
      if (unread.length < length) return
      if (hasBegun) onMessage(String.fromCharCode(unread[0] as number))
      hasBegun = true
      unread = unread.subarray(length)
    }
  }
}
