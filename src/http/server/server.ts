import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connectionLimits, defaultHttpLimits, type HttpLimits } from '../../limits.ts'
import { problem, type ProblemCode } from '../../rest/problem.ts'
import { Connection } from './connection.ts'
import { connectionsWithin, createConnectionLimits } from './connection-limits.ts'
import { createConnectionPacing } from './connection-pacing.ts'
import { refuseUnknownMethod, type Unread } from '../middleware/unknown-method.ts'

export interface ServerOptions {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /** Is told what a listener threw; its connection is cut. */
  readonly onError: (error: unknown) => void
  readonly port: number
  /** Null listens on all addresses. */
  readonly host: string | null
  readonly bounds?: HttpLimits
  /** What configures the port. */
  readonly variable?: 'PORT' | 'METRICS_PORT'
  /** File descriptors that the process keeps for other connections, beyond the reserve for files. */
  readonly descriptorsElsewhere?: number
  /** Whether all clients come by proxies: then one address may have all connections. */
  readonly isBehindProxies?: boolean
  /** Is told how many connections are open, whenever that changes. */
  readonly onConnections?: (open: number) => void
  /** Is told of each connection that is closed at once, since as many are open as may be. */
  readonly onRefused?: () => void
}

export interface HttpServer {
  readonly port: number
  /**
   * Accepts nothing more, closes the connections on which nothing runs, and lets the running requests end.
   * @param seconds after which those that still run are cut
   * @returns how many were cut
   */
  close(seconds: number): Promise<number>
}

/** The address to serve on can't be had. */
export class CannotListen extends Error {
  constructor(
    readonly port: number,
    reason: string,
    variable: string,
  ) {
    super(
      `The gateway can't listen on port ${port}: ${reason}. Set ${variable} to another one, or to 0 for any that is free.`,
    )
    this.name = 'CannotListen'
  }
}

/**
 * Listens for HTTP, within bounds.
 * @throws {CannotListen}
 */
export async function listen(options: ServerOptions): Promise<HttpServer> {
  const { listener, onError, port, host, bounds = defaultHttpLimits, variable = 'PORT' } = options
  const connections = new Map<Socket, Connection>()
  const waitingInAll = { count: 0 }
  const limits = createConnectionLimits({
    most: connectionsWithin(bounds.connections, options.descriptorsElsewhere ?? 0),
    isBehindProxies: options.isBehindProxies ?? false,
    onOpen: options.onConnections,
    onRefused: options.onRefused,
  })
  const pace = createConnectionPacing(connectionLimits.readPerIteration)
  let isClosing = false

  function run(request: IncomingMessage, response: ServerResponse): void {
    // After an upgrade that it hasn't made, Node doesn't see headers grow too large on the same connection.
    if (isClosing || request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    response.on('close', () => {
      if (isClosing) request.socket.end()
    })
    listener(request, response).catch((error: unknown) => {
      // A client that goes in the middle of its body is no error of ours.
      if (error !== request.errored) onError(error)
      response.destroy()
    })
  }

  const server = createServer(
    {
      // Whatever the command line says.
      insecureHTTPParser: false,
      maxHeaderSize: bounds.headerBytes,
      headersTimeout: bounds.headersSeconds * 1000,
      requestTimeout: bounds.requestSeconds * 1000,
      keepAliveTimeout: bounds.idleSeconds * 1000,
      // How late the two timeouts above may come.
      connectionsCheckingInterval: Math.min(1000, bounds.headersSeconds * 500),
    },
    (request, response) => connections.get(request.socket)?.add(response, () => run(request, response)),
  )
  server.timeout = bounds.silentSeconds * 1000
  server.on('clientError', (error: NodeJS.ErrnoException & Unread, socket: Socket) => {
    const connection = connections.get(socket)
    if (error.code === 'ECONNRESET' || !socket.writable || connection === undefined) return void socket.destroy()
    connection.refuse(refusalOf(error))
  })
  // The body's reader says when it is to come: not at all to what is refused.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response))
  // Who expects what nobody knows is answered as if they expected nothing, which RFC 9110 leaves to the server.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  // Not Node's maxConnections: a worker that has reached it gives the connection back, and the primary offers it again.
  server.on('connection', (socket) => {
    const leave = limits.admit(socket.remoteAddress)
    if (leave === null) return void socket.destroy()
    connections.set(socket, new Connection(socket, bounds, waitingInAll))
    pace(socket)
    socket.once('close', () => {
      connections.delete(socket)
      leave()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new CannotListen(port, error.message, variable)))
    server.listen({ port, ...(host === null ? {} : { host }) }, resolve)
  })

  const allRunning = (): ServerResponse[] => [...connections.values()].flatMap(({ running }) => running)
  const closeUnused = (): void => {
    for (const [socket, { running }] of connections) if (running.length === 0) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    async close(seconds) {
      isClosing = true
      const closed = new Promise((resolve) => server.close(resolve))
      for (const response of allRunning()) if (!response.headersSent) response.setHeader('connection', 'close')
      closeUnused()
      const inTime = new AbortController()
      const late = wait(seconds * 1000, undefined, { signal: inTime.signal }).catch(() => undefined)
      await Promise.race([closed.then(() => inTime.abort()), late])
      const cut = allRunning().length
      server.closeAllConnections()
      await closed
      return cut
    },
  }
}

/** What Node's codes come to. */
const unreadable: Readonly<Partial<Record<string, readonly [ProblemCode, string]>>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'Request line and headers have more bytes than are read.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['BODY_TOO_LARGE', 'The extensions of a chunk have more bytes than are read.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request did not come whole in time.'],
}

/** The whole response to what Node could not read as a request. */
function refusalOf(error: NodeJS.ErrnoException & Unread): string {
  const [code, detail] = unreadable[error.code ?? ''] ?? ['BAD_REQUEST', 'This is not HTTP/1.1.']
  const ofMethod = error.code === 'HPE_INVALID_METHOD' ? refuseUnknownMethod(error) : null
  const { status, headers, body } = ofMethod ?? problem(code, detail)
  const fields = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n')
}
