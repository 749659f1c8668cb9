import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The body of a response that stays open: a stream of bytes to one client. */
export interface ByteSink {
  /** Number of bytes written that the operating system has not accepted yet. */
  readonly unsentBytes: number
  /**
   * Writes bytes; those of a closed connection are discarded. The buffer is referenced, not copied.
   * @param sent called once the operating system has accepted them
   */
  write(bytes: Buffer, sent?: () => void): void
  /** Ends the body after the bytes written, and then closes the connection. */
  end(): void
  /** Closes the connection immediately. */
  destroy(): void
  /** Calls back once, when all bytes written have been sent, if more of them are unsent than the high-water mark. */
  onDrain(drained: () => void): void
  /** Calls back once, when the connection has closed. */
  onClose(closed: () => void): void
}

/**
 * Starts a response whose body ends with its connection (RFC 9112, section 6.3). It has no chunks, so that one buffer
 * can be written to the sockets of many clients.
 */
export function startStream(response: ServerResponse, headers: readonly string[]): ByteSink {
  response.useChunkedEncodingByDefault = false
  // Headers set by `setHeader` would stay in memory, as objects, for as long as the stream lasts.
  response.writeHead(200, [...headers, 'connection', 'close'])
  response.flushHeaders()
  response.socket?.setNoDelay(true)
  return new ResponseSink(response)
}

class ResponseSink implements ByteSink {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** The socket, or the response itself while earlier responses of a pipeline are being sent. */
  get #target(): Socket | ServerResponse {
    return this.#response.socket ?? this.#response
  }

  get unsentBytes(): number {
    return this.#target.writableLength
  }

  write(bytes: Buffer, sent?: () => void): void {
    const target = this.#target
    if (target.writable && !this.#response.writableEnded) target.write(bytes, sent)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    // Node would keep the connection open while the response waits for earlier ones in its pipeline.
    this.#response.req.socket.destroy()
  }

  onDrain(drained: () => void): void {
    this.#target.once('drain', drained)
  }

  onClose(closed: () => void): void {
    const { destroyed, socket, req } = this.#response
    // A client may have left while its stream was being prepared.
    if (destroyed || req.socket.destroyed) setImmediate(closed)
    // Node does not emit `close` on a response that waits in its pipeline.
    else if (socket === null) req.socket.once('close', closed)
    else this.#response.once('close', closed)
  }
}

/** Creates a body of the Fetch API, and the sink that writes it. */
export function fetchedStream(signal: AbortSignal): {
  readonly body: ReadableStream<Uint8Array>
  readonly sink: ByteSink
} {
  const closing = new AbortController()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let drained: (() => void) | undefined
  const close = (): void => {
    if (closing.signal.aborted) return
    closing.abort()
    controller?.close()
  }
  const body = new ReadableStream<Uint8Array>({
    start: (started) => void (controller = started),
    pull() {
      drained?.()
      drained = undefined
    },
    cancel: () => closing.abort(),
  })
  signal.addEventListener('abort', close, { once: true })
  const sink: ByteSink = {
    get unsentBytes() {
      return 0
    },
    write: (bytes) => {
      if (!closing.signal.aborted) controller?.enqueue(bytes)
    },
    end: close,
    destroy: close,
    onDrain: (callback) => void (drained = callback),
    onClose: (callback) => closing.signal.addEventListener('abort', callback, { once: true }),
  }
  return { body, sink }
}
