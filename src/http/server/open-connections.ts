import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type HttpLimits } from '../../limits.ts'
import { connectionLimits } from '../../limits/connections.ts'
import { liveLimits } from '../../limits/live.ts'
import type { BoundedRequest } from './bounded-request.ts'
import { Connection, createPipelineCapacity, type PipelineCapacity, type RequestListener } from './connection.ts'
import { type ConnectionCounter, connectionsWithin, createConnectionCounter } from './connection-counter.ts'
import { ReadPacing } from './pacing/read-pacing.ts'

export interface ConnectionOptions extends RequestListener {
  readonly limits: HttpLimits
  /** File descriptors reserved for other connections of the process, in addition to the reserve for files. */
  readonly descriptorsElsewhere?: number
  /** Whether all clients connect through proxies: one address may then have all connections. */
  readonly isBehindProxies?: boolean
  /** Called with the number of open connections whenever it changes. */
  readonly onConnections?: (open: number) => void
  /** Called for each connection that is closed at once because a limit on connections is reached. */
  readonly onRefused?: () => void
}

/** The open connections of one server: counts them, has them read in turn, and passes their requests to the listener. */
export class OpenConnections {
  readonly #requests: RequestListener
  readonly #limits: HttpLimits
  readonly #counter: ConnectionCounter
  readonly #capacity: PipelineCapacity
  readonly #pacing: ReadPacing
  readonly #open = new Set<Socket>()
  /** Of these, the connections that are parsed. */
  readonly #parsed = new Map<Socket, Connection>()
  #isClosing = false

  constructor(options: ConnectionOptions) {
    const { limits, descriptorsElsewhere = 0, isBehindProxies = false } = options
    this.#requests = options
    this.#limits = limits
    this.#counter = createConnectionCounter({
      maxConnections: connectionsWithin(limits.connections, descriptorsElsewhere),
      maxWithStreams: connectionsWithin(limits.connections + liveLimits.connections, descriptorsElsewhere),
      isBehindProxies,
      onOpen: options.onConnections,
      onRefused: options.onRefused,
    })
    this.#capacity = createPipelineCapacity(limits)
    // A proxy's connections are those of many clients.
    const maxWaiting = isBehindProxies ? Infinity : connectionLimits.waitingConnections
    this.#pacing = new ReadPacing({ milliseconds: connectionLimits.readMilliseconds, maxWaiting, isBehindProxies })
  }

  /**
   * Adds a connection that was accepted paused, or closes it at a limit.
   * @param attachParser called when it is the connection's turn
   */
  add(socket: Socket, attachParser: () => void): void {
    const admitted = this.#counter.admit(socket.remoteAddress)
    if (admitted === null) return void socket.destroy()
    this.#open.add(socket)
    this.#pacing.add(socket, () => {
      attachParser()
      const connection = new Connection(socket, this.#limits, this.#capacity, admitted, this.#requests)
      connection.isClosing = this.#isClosing
      this.#parsed.set(socket, connection)
    })
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#parsed.delete(socket)
      admitted.leave()
    })
  }

  /** Passes a request to its connection, which starts it in its turn. */
  readonly onRequest = (request: BoundedRequest, response: ServerResponse<BoundedRequest>): void => {
    request.readTarget()
    request.pacing = this.#pacing
    this.#pacing.onRead(request.socket)
    this.#parsed.get(request.socket)?.add(response)
  }

  /** Reports that bytes were read that are no request, and returns their connection, if it is parsed. */
  onUnparsed(socket: Socket): Connection | undefined {
    this.#pacing.onRead(socket)
    return this.#parsed.get(socket)
  }

  /** Closes each connection after the responses that are running, or after those to its next request. */
  closeAfterResponses(): void {
    this.#isClosing = true
    for (const connection of this.#parsed.values()) connection.isClosing = true
    for (const response of this.#running()) if (!response.headersSent) response.setHeader('connection', 'close')
  }

  /** Closes the connections without a running request. */
  closeIdle(): void {
    for (const socket of this.#open) if ((this.#parsed.get(socket)?.running.length ?? 0) === 0) socket.destroy()
  }

  /**
   * Closes all connections now. Node's closeAllConnections() leaves out those without a parser, as after CONNECT.
   * @returns number of running requests cut off
   */
  destroyAll(): number {
    const { length } = this.#running()
    for (const socket of this.#open) socket.destroy()
    return length
  }

  #running(): ServerResponse[] {
    return [...this.#parsed.values()].flatMap(({ running }) => running)
  }
}
