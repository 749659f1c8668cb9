import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface PipelineLimits {
  /** Requests of one connection that run at once. */
  readonly pipelined: number
  /** Requests of one connection that were read and wait for those before them. */
  readonly waitingRequests: number
  /** The same of all connections together. */
  readonly waitingInAll: number
}

/** How many requests of all connections wait for others on their own connection. */
export interface Waiting {
  count: number
}

/**
 * A client's connection. Runs the requests that are pipelined on it (RFC 9112, section 9.3.2) a few at a time, and
 * reads no more of them while others wait, so that TCP makes the client wait too.
 *
 * Node parses all requests of one read of the socket (64 KB) before it can be paused; they wait here, unbegun. A
 * connection that brings more of them than the bounds allow is cut. Bytes that are no request are refused in their turn,
 * after the requests before them were answered.
 */
export class Connection {
  /**
   * The responses under way. It is an array, since the table of a set that lives long holds on to the requests that it
   * had last; it has few entries.
   */
  readonly running: ServerResponse[] = []
  readonly #socket: Socket
  readonly #bounds: PipelineLimits
  readonly #waitingInAll: Waiting
  #waiting: Entry[] = []
  /** Of the request that was read last, perhaps not to its end. */
  #newest: ServerResponse | null = null
  /** What is said to bytes that could not be read, after which nothing is read any more; null while there are none. */
  #refusal: string | null = null

  constructor(socket: Socket, bounds: PipelineLimits, waitingInAll: Waiting) {
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
      // Node tells the end of a connection to the response that has its turn alone.
      setImmediate(() => {
        for (const response of this.running.slice()) response.emit('close')
      })
    })
  }

  /** Begins a request when there is room for it; the response's `close` event makes room for the next one. */
  add(response: ServerResponse, begin: () => void): void {
    // What a cut connection has brought with its last read comes yet.
    if (this.#socket.destroyed) return
    this.#newest = response
    if (this.#waiting.length === 0 && this.running.length < this.#bounds.pipelined) this.#begin({ response, begin })
    else if (this.#mayWait()) this.#wait({ response, begin })
    else this.#socket.destroy()
  }

  /**
   * Ends the connection with a refusal of bytes that could not be read, when all requests before them were answered: the
   * client takes answers for those of its requests in turn (RFC 9112, section 9.3.2). The first such refusal counts.
   * @param refusal a whole response
   */
  refuse(refusal: string): void {
    if (this.#refusal !== null) return
    this.#refusal = refusal
    this.#socket.pause()
    this.#refuseInTurn()
  }

  #refuseInTurn(): void {
    const socket = this.#socket
    // An answer before may have closed the connection.
    if (this.#refusal === null || socket.destroyed || socket.writableEnded) return
    const unread = this.#newest?.req.complete === false ? this.#newest : null
    const isBefore = (response: ServerResponse): boolean => response !== unread
    if (this.running.some(isBefore) || this.#waiting.some(({ response }) => isBefore(response))) return
    const isAnswered = unread?.headersSent === true
    // An answer that has begun before all of its request was read is the one that this request gets.
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
    response.once('close', () => {
      this.running.splice(this.running.indexOf(response), 1)
      // An idle connection holds no request.
      if (this.#newest === response && response.req.complete) this.#newest = null
      this.#next()
      this.#refuseInTurn()
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
