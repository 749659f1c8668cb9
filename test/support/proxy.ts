import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** A way to a PostgreSQL server that can be broken. */
export interface Proxy {
  /** The server's address, by this way. */
  readonly url: string
  /** Cuts every connection. */
  cut(): void
  /** Cuts every connection, and refuses new ones. */
  close(): Promise<void>
  /** Accepts connections. Cuts those through which nothing is let. */
  open(): Promise<void>
  /** Cuts every connection, and leads new ones to another server. */
  leadTo(url: string): void
  /** Leads new connections to another server, and cuts none. */
  leadNewTo(url: string): void
  /** Lets nothing through any more, and cuts nothing, until it is opened anew. */
  stall(): void
  /** Lets the next commits through to the server, and cuts the connection in place of its answer. */
  loseCommits(count: number): void
  /**
   * Lets the answers of so many commits through and nothing after them, until it is called again.
   * @returns resolves when they have come
   */
  passCommits(count: number): Promise<void>
  /** How many commits' answers were lost. */
  readonly lost: number
}

export async function proxyTo(url: string): Promise<Proxy> {
  let to = new URL(url)
  const pairs = new Set<Pair>()
  let toLose = 0
  let lost = 0
  let toPass = Infinity
  let passed: () => void = () => undefined
  const losesCommit = (answer: Buffer): boolean => toLose > 0 && answer.includes('COMMIT') && toLose-- > 0
  const accept = (client: Socket): void => {
    const server = connect(Number(to.port === '' ? 5432 : to.port), to.hostname)
    const pair = new Pair(client, server)
    pairs.add(pair)
    client.on('data', (bytes) => server.write(bytes))
    server.on('data', (bytes) => {
      if (losesCommit(bytes)) {
        lost++
        return pair.cut()
      }
      client.write(bytes)
      if (bytes.includes('COMMIT') && --toPass <= 0) {
        stall()
        passed()
      }
      return undefined
    })
    for (const socket of [client, server])
      socket.on('error', () => undefined).on('close', () => pairs.delete(pair.cut()))
  }
  let listening = await listen(accept, 0)
  const { port: own } = listening.address() as AddressInfo
  const cut = (): void => {
    for (const pair of pairs) pair.cut()
  }
  let isStalled = false
  const stall = (): void => {
    isStalled = true
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.pause()
  }
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${own}` }).toString(),
    get lost() {
      return lost
    },
    cut,
    async close() {
      const closed = new Promise((resolve) => listening.close(resolve))
      cut()
      await closed
    },
    async open() {
      if (isStalled) cut()
      isStalled = false
      if (!listening.listening) listening = await listen(accept, own)
    },
    leadTo(other) {
      to = new URL(other)
      cut()
    },
    leadNewTo(other) {
      to = new URL(other)
    },
    stall,
    passCommits(count) {
      toPass = count
      isStalled = false
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.resume()
      return new Promise((resolve) => (passed = resolve))
    },
    loseCommits(count) {
      toLose = count
    },
  }
}

class Pair {
  constructor(
    readonly client: Socket,
    readonly server: Socket,
  ) {}

  cut(): this {
    this.client.destroy()
    this.server.destroy()
    return this
  }
}

function listen(accept: (socket: Socket) => void, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(accept).once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
