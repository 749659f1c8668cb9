import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AdmittedConnection } from './connection-limits.ts'

export interface PipelineLimits {
  /** Maximum number of requests of one connection that are begun: read, and answered one after the other. */
  readonly pipelined: number
  /** Maximum number of requests of one connection that were read and wait for earlier ones. */
  readonly waitingRequests: number
  /** Maximum number of waiting requests of all connections together. */
  readonly waitingInAll: number
}

/** Number of requests of all connections that wait for earlier ones on their own connection. */
export interface Waiting {
  count: number
}

/**
 * A client's connection. Begins a few of the requests pipelined on it (RFC 9112, section 9.3.2), and stops reading
 * while others wait, so that TCP flow control applies to the client. Begun requests are answered in their order; see
 * `createRequestOrder`.
 *
 * Node parses all requests of one read of the socket (64 KB) before it can be paused; they wait here before they begin.
 * A connection with more waiting requests than the limits allow is closed. Bytes that are not a valid request are
 * refused in order, after the responses to earlier requests.
 */
export class Connection {
  /**
   * Responses in progress. An array, because the table of a long-lived Set retains references to deleted entries; it
   * has few elements.
   */
  readonly running: ServerResponse[] = []
  /** Whether the connection ends after the response that is sent next. */
  isClosing = false
  readonly #socket: Socket
  readonly #bounds: PipelineLimits
  readonly #waitingInAll: Waiting
  #waiting: Entry[] = []
  /** Response to the request read last, perhaps incompletely. */
  #newest: ServerResponse | null = null
  /** Response to bytes that could not be parsed, after which nothing more is read; null while there are none. */
  #refusal: string | null = null

  /** @param place among the connections of the server */
  constructor(
    socket: Socket,
    bounds: PipelineLimits,
    waitingInAll: Waiting,
    readonly place: AdmittedConnection,
  ) {
    this.#socket = socket
    this.#bounds = bounds
    this.#waitingInAll = waitingInAll
    // Node resumes the socket after each message that it has parsed.
    socket.on('resume', () => {
      if (this.#waiting.length > 0 || this.#refusal !== null) socket.pause()
    })
    socket.once('close', () => {
      waitingInAll.count -= this.#waiting.length
      this.#waiting = []
      // Node emits `close` only on the response at the head of the pipeline.
      setImmediate(() => {
        for (const response of this.running.slice()) response.emit('close')
      })
    })
  }

  /** Begins a request when the limits allow; the `close` event of a response begins the next request. */
  add(response: ServerResponse, begin: () => void): void {
    // A closed connection may still deliver requests of its last read.
    if (this.#socket.destroyed) return
    this.#newest = response
    if (this.#waiting.length === 0 && this.running.length < this.#bounds.pipelined) this.#begin({ response, begin })
    else if (this.#mayWait()) this.#wait({ response, begin })
    else this.#socket.destroy()
  }

  /**
   * Closes the connection with a refusal of bytes that could not be parsed, after the responses to all earlier
   * requests: clients match responses to requests by their order (RFC 9112, section 9.3.2). Only the first refusal is
   * sent.
   * @param refusal a complete response
   */
  refuse(refusal: string): void {
    if (this.#refusal !== null) return
    this.#refusal = refusal
    this.#socket.pause()
    this.#refuseInTurn()
  }

  #refuseInTurn(): void {
    const socket = this.#socket
    // An earlier response may have closed the connection.
    if (this.#refusal === null || socket.destroyed || socket.writableEnded) return
    const unread = this.#newest?.req.complete === false ? this.#newest : null
    const isBefore = (response: ServerResponse): boolean => response !== unread
    if (this.running.some(isBefore) || this.#waiting.some(({ response }) => isBefore(response))) return
    const isAnswered = unread?.headersSent === true
    // A response that began before its request was completely read is the response to that request.
    if (isAnswered && !unread.closed) return
    if (isAnswered) return void socket.destroy()
    socket.end(this.#refusal, () => socket.destroy())
  }

  #mayWait(): boolean {
    const { waitingRequests, waitingInAll } = this.#bounds
    return this.#waiting.length < waitingRequests && this.#waitingInAll.count < waitingInAll
  }

  #wait(entry: Entry): void {
    this.#waiting.push(entry)
    this.#waitingInAll.count++
    this.#socket.pause()
  }

  #begin({ response, begin }: Entry): void {
    this.running.push(response)
    response.on('close', () => {
      this.running.splice(this.running.indexOf(response), 1)
      // An idle connection retains no request.
      if (this.#newest === response && response.req.complete) this.#newest = null
      this.#next()
      this.#refuseInTurn()
      if (this.isClosing) this.#socket.end()
    })
    begin()
  }

  #next(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#waitingInAll.count--
    if (this.#waiting.length === 0 && this.#refusal === null) this.#socket.resume()
    this.#begin(next)
  }
}

interface Entry {
  readonly response: ServerResponse
  readonly begin: () => void
}
