import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { BoundedRequest, RequestConnection } from './bounded-request.ts'
import type { CountedConnection } from './connection-counter.ts'
import { Budget } from '../../fairness/budget.ts'
import { pauseWhile } from './pause-while.ts'

export interface PipelineLimits {
  /** Maximum number of requests of one connection that are started: read, and answered one after the other. */
  readonly pipelined: number
  /** Maximum number of started requests of all connections together, without the oldest of each. */
  readonly pipelinedInAll: number
  /** Maximum number of requests of one connection that were read and wait for earlier ones. */
  readonly waitingRequests: number
  /** Maximum number of waiting requests of all connections together. */
  readonly waitingInAll: number
}

/** Requests of all connections behind earlier ones on their own connection. One sender may have a fair share of them. */
export interface PipelineCapacity {
  /** Those that are started. */
  readonly started: Budget
  /** Those that wait. */
  readonly waiting: Budget
}

/** Creates the capacity of a server. */
export function createPipelineCapacity({ pipelinedInAll, waitingInAll }: PipelineLimits): PipelineCapacity {
  return { started: new Budget(pipelinedInAll), waiting: new Budget(waitingInAll) }
}

type NodeResponse = ServerResponse<BoundedRequest>

/** Answers the requests of connections. */
export interface RequestListener {
  readonly listener: (request: BoundedRequest, response: NodeResponse) => Promise<void>
  /** Called with an error that a listener threw; its connection is closed. */
  readonly onError: (error: unknown) => void
}

/**
 * A client's connection. Starts a few of the requests pipelined on it (RFC 9112, section 9.3.2), and stops reading
 * while others wait, so that TCP flow control applies to the client.
 *
 * Node parses all requests of one read of the socket (64 KB) before it can be paused; they wait here before they start:
 * until an earlier one is answered, where the limits allow so many of all connections, and at the latest until all are.
 * A connection with more waiting requests than the limits allow is closed. Bytes that are not a valid request are
 * refused in order, after the responses to earlier requests.
 */
export class Connection implements RequestConnection {
  /**
   * Responses in progress. An array, because the table of a long-lived Set retains references to deleted entries; it
   * has few elements.
   */
  readonly running: NodeResponse[] = []
  /** Whether the connection ends after the response that is sent next. */
  isClosing = false
  isStreaming = false
  readonly #socket: Socket
  readonly #limits: PipelineLimits
  readonly #capacity: PipelineCapacity
  readonly #requests: RequestListener
  #waiting: NodeResponse[] = []
  /** Response to the request read last, perhaps incompletely. */
  #newest: NodeResponse | null = null
  /** Completion of the newest request that was not answered synchronously. */
  #unanswered: Promise<void> | null = null
  /** Response to bytes that could not be parsed, after which nothing more is read; null while there are none. */
  #refusal: string | null = null

  /**
   * @param admitted counts it among the connections of the server
   */
  constructor(
    socket: Socket,
    limits: PipelineLimits,
    capacity: PipelineCapacity,
    readonly admitted: CountedConnection,
    requests: RequestListener,
  ) {
    this.#socket = socket
    this.#limits = limits
    this.#capacity = capacity
    this.#requests = requests
    pauseWhile(socket, () => this.#waiting.length > 0 || this.#refusal !== null)
    socket.once('close', () => {
      capacity.waiting.giveBack(admitted.sender, Math.max(0, this.#waiting.length - 1))
      this.#waiting = []
      // Node emits `close` only on the response at the head of the pipeline.
      setImmediate(() => {
        for (const response of this.running.slice()) response.emit('close')
      })
    })
  }

  /** Starts a request when the limits allow; the `close` event of a response starts the next request. */
  add(response: NodeResponse): void {
    // A closed connection may still deliver requests of its last read.
    if (this.#socket.destroyed) return
    if (this.isStreaming) return void this.#socket.destroy()
    response.req.clientConnection = this
    this.#newest = response
    if (this.#waiting.length === 0 && this.#takeStart()) this.#run(response)
    else if (this.#takeWait()) this.#wait(response)
    else this.#socket.destroy()
  }

  inOrder<Answered>(
    response: ServerResponse,
    answer: () => Answered | Promise<Answered>,
    awaitTurn: () => Promise<void>,
  ): Answered | Promise<Answered> {
    // Node assigns the socket to the response that is next to be sent.
    const before = response.socket === null ? this.#unanswered : null
    const answered = before === null ? answer() : before.then(awaitTurn).then(answer)
    if (answered instanceof Promise) {
      const end = (): void => {
        if (this.#unanswered === ended) this.#unanswered = null
      }
      const ended: Promise<void> = answered.then(end, end)
      this.#unanswered = ended
    }
    return answered
  }

  endWithStream(): void {
    this.isStreaming = true
    // Node would retain the waiting requests until the stream has ended.
    if (this.#waiting.length > 0) this.#socket.destroy()
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
    this.#refuseInOrder()
  }

  #refuseInOrder(): void {
    const socket = this.#socket
    // An earlier response may have closed the connection.
    if (this.#refusal === null || socket.destroyed || socket.writableEnded) return
    const unread = this.#newest?.req.complete === false ? this.#newest : null
    const isBefore = (response: NodeResponse): boolean => response !== unread
    if (this.running.some(isBefore) || this.#waiting.some(isBefore)) return
    const isAnswered = unread?.headersSent === true
    // A response that began before its request was completely read is the response to that request.
    if (isAnswered && !unread.closed) return
    if (isAnswered) return void socket.destroy()
    socket.end(this.#refusal, () => socket.destroy())
  }

  /** Takes the capacity to start a request; the oldest of the connection takes none. */
  #takeStart(): boolean {
    if (this.running.length === 0) return true
    return this.running.length < this.#limits.pipelined && this.#capacity.started.take(this.admitted.sender, 1)
  }

  /** Takes the capacity to let a request wait; the first of the connection takes none. */
  #takeWait(): boolean {
    const { length } = this.#waiting
    if (length === 0) return true
    return length < this.#limits.waitingRequests && this.#capacity.waiting.take(this.admitted.sender, 1)
  }

  #wait(response: NodeResponse): void {
    this.#waiting.push(response)
    this.#socket.pause()
  }

  #run(response: NodeResponse): void {
    this.running.push(response)
    response.once('close', () => {
      this.running.splice(this.running.indexOf(response), 1)
      if (this.running.length > 0) this.#capacity.started.giveBack(this.admitted.sender, 1)
      // An idle connection retains no request.
      if (this.#newest === response && response.req.complete) this.#newest = null
      while (this.#waiting.length > 0 && this.#takeStart()) this.#runNext()
      if (this.#refusal !== null) this.#refuseInOrder()
      if (this.isClosing) this.#socket.end()
    })
    this.#answer(response)
  }

  /** Passes a request to the listener. */
  #answer(response: NodeResponse): void {
    const { req: request } = response
    // After an upgrade request that is not performed, Node does not enforce the header size limit on the same connection.
    if (this.isClosing || request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    this.#requests.listener(request, response).catch((error: unknown) => {
      // A client that disconnects while it sends its body is not an error of the gateway.
      if (error !== request.errored) this.#requests.onError(error)
      response.destroy()
    })
  }

  #runNext(): void {
    const next = this.#waiting.shift() as NodeResponse
    if (this.#waiting.length > 0) this.#capacity.waiting.giveBack(this.admitted.sender, 1)
    if (this.#waiting.length === 0 && this.#refusal === null) this.#socket.resume()
    this.#run(next)
  }
}
