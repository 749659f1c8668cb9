import { connect, createServer, type AddressInfo } from 'node:net'

/** A way to a PostgreSQL that counts what is sent through it. */
export interface CountingWay {
  /** The database's address, by this way. */
  readonly url: string
  /** Statements that were run since the last time this was asked. */
  take(): number
  close(): Promise<void>
}

/**
 * Counts the statements that a system sends, whatever it is made of: the messages of PostgreSQL's protocol that run
 * one.
 */
export async function countStatements(url: string): Promise<CountingWay> {
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
  const there = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(there.port) }).toString(),
    take: () => {
      const taken = count
      count = 0
      return taken
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Tells the type of each message: a byte before its length, but for the first one, which has none. */
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
