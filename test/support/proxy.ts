import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** A TCP proxy in front of a PostgreSQL server, which simulates faults of the network and failovers. */
export interface Proxy {
  /** Address of the database by way of the proxy. */
  readonly url: string
  /** Closes all connections. */
  cut(): void
  /** Closes all connections, and refuses new ones. */
  close(): Promise<void>
  /** Accepts connections again; closes those that are stalled. */
  open(): Promise<void>
  /** Closes all connections, and forwards new ones to another server. */
  leadTo(url: string): void
  /** Forwards new connections to another server; existing ones stay. */
  leadNewTo(url: string): void
  /** Forwards nothing more on open connections, without closing them, until `open`. */
  stall(): void
  /** For the next commits: forwards the statement, and closes the connection instead of forwarding the response. */
  loseCommits(count: number): void
  /**
   * Forwards until this many commits are acknowledged, then stalls, until it is called again.
   * @returns a promise that resolves when they are acknowledged
   */
  passCommits(count: number): Promise<void>
  /** Number of commits whose response was lost. */
  readonly lost: number
}

/** Starts a proxy on a free port. */
export async function proxyTo(url: string): Promise<Proxy> {
  let target = new URL(url)
  const pairs = new Set<Pair>()
  let toLose = 0
  let lost = 0
  let toPass = Infinity
  let passed: () => void = () => undefined
  const losesCommit = (response: Buffer): boolean => toLose > 0 && response.includes('COMMIT') && toLose-- > 0
  const accept = (client: Socket): void => {
    const server = connect(Number(target.port === '' ? 5432 : target.port), target.hostname)
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
      target = new URL(other)
      cut()
    },
    leadNewTo(other) {
      target = new URL(other)
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

/** The two sockets of a connection. */
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
