import { createServer, type Server } from 'node:http'
import { type AddressInfo, Server as TcpServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { defaultHttpLimits, type HttpLimits } from '../../limits.ts'
import { connectionLimits } from '../../limits/connections.ts'
import type { UnparsedBytes } from '../middleware/unknown-method.ts'
import { BoundedRequest } from './bounded-request.ts'
import { CannotListen } from './cannot-listen.ts'
import { type ConnectionOptions, OpenConnections } from './open-connections.ts'
import { refusalOfBytes, refusalOfTunnel } from './unread-refusals.ts'

export interface ServerOptions extends Omit<ConnectionOptions, 'limits'> {
  readonly port: number
  /** Address to listen on; null listens on all. */
  readonly host: string | null
  readonly limits?: HttpLimits
  /** Environment variable that configures the port, for error messages. */
  readonly variable?: 'PORT' | 'METRICS_PORT'
}

export interface HttpServer {
  readonly port: number
  /**
   * Stops accepting connections, answers the requests that have arrived, closes idle connections, and waits for the running
   * requests.
   * @param seconds after which connections with running requests are closed
   * @returns number of running requests cut off
   */
  close(seconds: number): Promise<number>
}

/** Node's server, whose requests are limited as they are read. */
type NodeServer = Server<typeof BoundedRequest>

/**
 * Starts an HTTP server with limits on connections, sizes and times.
 * @throws {CannotListen}
 */
export async function listen(options: ServerOptions): Promise<HttpServer> {
  const { limits = defaultHttpLimits, onError } = options
  const connections = new OpenConnections({ ...options, limits })
  const server = createNodeServer(limits)
  server.on('request', connections.onRequest)
  handleExpectations(server)
  refuseUnparsed(server, connections)
  // Node's own listener adds the parser: it runs when it is the connection's turn.
  const [attachParser] = server.listeners('connection')
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    connections.add(socket, () => {
      attachParser?.call(server, socket)
    })
  })
  await startListening(server, options)
  // An error of accept, such as lack of memory, must not end open connections.
  server.on('error', onError)
  return {
    port: (server.address() as AddressInfo).port,
    close: (seconds) => close(server, connections, seconds),
  }
}

function createNodeServer(limits: HttpLimits): NodeServer {
  const server = createServer({
    IncomingMessage: BoundedRequest,
    // Overrides Node's command line option of the same name.
    insecureHTTPParser: false,
    // Node would answer a request without Host by itself: past the limits of its connection, and unseen by logs.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersSeconds * 1000,
    requestTimeout: limits.requestSeconds * 1000,
    keepAliveTimeout: limits.idleSeconds * 1000,
    // Maximum delay of headersTimeout and requestTimeout.
    connectionsCheckingInterval: Math.min(1000, limits.headersSeconds * 500),
  })
  // An option of node:net that node:http does not pass on: read pacing resumes each connection.
  Object.assign(server, { pauseOnConnect: true })
  server.timeout = limits.silentSeconds * 1000
  return server
}

/** Passes requests with `Expect` on as all others. */
function handleExpectations(server: NodeServer): void {
  // The reader of the body sends 100 Continue; refused requests receive none.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response))
  // Unknown expectations are ignored, which RFC 9110 permits.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
}

/** Refuses bytes that are not a request, and tunnels. */
function refuseUnparsed(server: NodeServer, connections: OpenConnections): void {
  server.on('clientError', (error: NodeJS.ErrnoException & UnparsedBytes, socket: Socket) => {
    const connection = connections.onUnparsed(socket)
    if (error.code === 'ECONNRESET' || !socket.writable || connection === undefined) return void socket.destroy()
    connection.refuse(refusalOfBytes(error))
  })
  // Node has removed its parser and listeners: the bytes that follow are those of a tunnel, which is not opened.
  server.on('connect', (_, socket: Socket) => {
    socket.on('timeout', () => socket.destroy())
    connections.onUnparsed(socket)?.refuse(refusalOfTunnel())
  })
}

/** @throws {CannotListen} */
async function startListening(server: NodeServer, { port, host, variable = 'PORT' }: ServerOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => reject(new CannotListen(port, error.message, remedyFor(error, variable)))
    server.once('error', fail)
    server.listen({ port, backlog: connectionLimits.backlog, ...(host === null ? {} : { host }) }, () => {
      server.off('error', fail)
      resolve()
    })
  })
}

/** Codes of an address that this machine does not have, and of a name that has none. */
const wrongAddress: readonly unknown[] = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

function remedyFor({ code }: NodeJS.ErrnoException, variable: string): string {
  if (wrongAddress.includes(code)) return 'Set HOST to an address of this machine, or leave it out for all of them.'
  return `Set ${variable} to another one, or to 0 for any that is free.`
}

/** Time from the start of a stop in which requests that have arrived on idle connections are read: some iterations under load. */
const readMilliseconds = 500

/** @returns number of running requests cut off */
async function close(server: NodeServer, connections: OpenConnections, seconds: number): Promise<number> {
  // The server of node:http would also close the connections of responses that are written, but not sent yet.
  const closed = new Promise((resolve) => TcpServer.prototype.close.call(server, resolve))
  connections.closeAfterResponses()
  const inTime = new AbortController()
  const passed = (milliseconds: number): Promise<void> =>
    wait(milliseconds, undefined, { signal: inTime.signal }).catch(() => undefined)
  const late = passed(seconds * 1000)
  void passed(Math.min(seconds * 1000, readMilliseconds)).then(() => connections.closeIdle())
  await Promise.race([closed.then(() => inTime.abort()), late])
  const cut = connections.destroyAll()
  await closed
  // Stops its timer, which looks for requests that take too long to arrive.
  server.close()
  return cut
}
