import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connectionLimits, defaultHttpLimits, type HttpLimits } from '../../limits.ts'
import { liveLimits } from '../../limits/live.ts'
import { BoundedRequest } from './bounded-request.ts'
import { Connection, createPipelineCapacity } from './connection.ts'
import { connectionsWithin, createConnectionLimits } from './connection-limits.ts'
import { createReadPacing } from './pacing/read-pacing.ts'
import { refusalOfBytes, refusalOfTunnel } from './unread-refusals.ts'
import type { UnparsedBytes } from '../middleware/unknown-method.ts'

export interface ServerOptions {
  readonly listener: (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => Promise<void>
  /** Called with an error that a listener threw; its connection is closed. */
  readonly onError: (error: unknown) => void
  readonly port: number
  /** Address to listen on; null listens on all. */
  readonly host: string | null
  readonly limits?: HttpLimits
  /** Environment variable that configures the port, for error messages. */
  readonly variable?: 'PORT' | 'METRICS_PORT'
  /** File descriptors reserved for other connections of the process, in addition to the reserve for files. */
  readonly descriptorsElsewhere?: number
  /** Whether all clients connect through proxies: one address may then have all connections. */
  readonly isBehindProxies?: boolean
  /** Called with the number of open connections whenever it changes. */
  readonly onConnections?: (open: number) => void
  /** Called for each connection that is closed at once because a limit on connections is reached. */
  readonly onRefused?: () => void
}

export interface HttpServer {
  readonly port: number
  /**
   * Stops accepting connections, closes idle ones, and waits for the running requests.
   * @param seconds after which connections with running requests are closed
   * @returns number of running requests cut off
   */
  close(seconds: number): Promise<number>
}

/** The server cannot listen on its address. */
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
 * Starts an HTTP server with limits on connections, sizes and times.
 * @throws {CannotListen}
 */
export async function listen(options: ServerOptions): Promise<HttpServer> {
  const { listener, onError, port, host, limits = defaultHttpLimits, variable = 'PORT' } = options
  const open = new Set<Socket>()
  /** Connections that are parsed. */
  const connections = new Map<Socket, Connection>()
  const capacity = createPipelineCapacity(limits)
  const admission = createConnectionLimits({
    most: connectionsWithin(limits.connections, options.descriptorsElsewhere ?? 0),
    maxWithStreams: connectionsWithin(limits.connections + liveLimits.connections, options.descriptorsElsewhere ?? 0),
    isBehindProxies: options.isBehindProxies ?? false,
    onOpen: options.onConnections,
    onRefused: options.onRefused,
  })
  // A proxy's connections are those of many clients.
  const maxWaiting = (options.isBehindProxies ?? false) ? Infinity : connectionLimits.waitingConnections
  const pacing = createReadPacing(connectionLimits.readMilliseconds, maxWaiting)
  let isClosing = false

  /** Passes a request to the listener, when its connection begins it. */
  function begin(response: ServerResponse<BoundedRequest>): void {
    const request = response.req
    // After an upgrade request that is not performed, Node does not enforce the header size limit on the same
    // connection.
    if (isClosing || request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    listener(request, response).catch((error: unknown) => {
      // A client that disconnects while it sends its body is not an error of the gateway.
      if (error !== request.errored) onError(error)
      response.destroy()
    })
  }

  const server = createServer(
    {
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
    },
    (request, response) => {
      request.pacing = pacing
      pacing.onRead(request.socket)
      connections.get(request.socket)?.add(response)
    },
  )
  // An option of node:net that node:http does not pass on: read pacing resumes each connection.
  Object.assign(server, { pauseOnConnect: true })
  server.timeout = limits.silentSeconds * 1000
  server.on('clientError', (error: NodeJS.ErrnoException & UnparsedBytes, socket: Socket) => {
    const connection = connections.get(socket)
    pacing.onRead(socket)
    if (error.code === 'ECONNRESET' || !socket.writable || connection === undefined) return void socket.destroy()
    connection.refuse(refusalOfBytes(error))
  })
  // Node has removed its parser and listeners: the bytes that follow are those of a tunnel, which is not opened.
  server.on('connect', (_, socket: Socket) => {
    pacing.onRead(socket)
    socket.on('timeout', () => socket.destroy())
    connections.get(socket)?.refuse(refusalOfTunnel())
  })
  // The reader of the body sends 100 Continue; refused requests receive none.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response))
  // Unknown expectations are ignored, which RFC 9110 permits.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  // Node's own listener adds the parser: it runs when it is the connection's turn.
  const [beginParsing] = server.listeners('connection')
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    const admitted = admission.admit(socket.remoteAddress)
    if (admitted === null) return void socket.destroy()
    open.add(socket)
    pacing.add(socket, () => {
      beginParsing?.call(server, socket)
      connections.set(socket, new Connection(socket, limits, capacity, admitted, begin))
    })
    socket.once('close', () => {
      open.delete(socket)
      connections.delete(socket)
      admitted.leave()
    })
  })
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => reject(new CannotListen(port, error.message, variable))
    server.once('error', fail)
    server.listen({ port, backlog: connectionLimits.backlog, ...(host === null ? {} : { host }) }, () => {
      server.off('error', fail)
      resolve()
    })
  })
  // An error of accept, such as lack of memory, must not end open connections.
  server.on('error', onError)

  const allRunning = (): ServerResponse[] => [...connections.values()].flatMap(({ running }) => running)
  const closeUnused = (): void => {
    for (const socket of open) if ((connections.get(socket)?.running.length ?? 0) === 0) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    async close(seconds) {
      isClosing = true
      for (const connection of connections.values()) connection.isClosing = true
      const closed = new Promise((resolve) => server.close(resolve))
      for (const response of allRunning()) if (!response.headersSent) response.setHeader('connection', 'close')
      closeUnused()
      const inTime = new AbortController()
      const late = wait(seconds * 1000, undefined, { signal: inTime.signal }).catch(() => undefined)
      await Promise.race([closed.then(() => inTime.abort()), late])
      const cut = allRunning().length
      // Node's closeAllConnections() leaves out those without a parser, as after CONNECT.
      for (const socket of open) socket.destroy()
      await closed
      return cut
    },
  }
}
