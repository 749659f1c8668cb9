import { connect } from 'node:net'

/** A request of a workload. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
}

/** Number of responses, and percentiles of their latency in milliseconds. */
export interface LoadResult {
  readonly responses: number
  /** Elapsed time, until the last response. */
  readonly seconds: number
  readonly p50: number
  readonly p99: number
}

/**
 * Sends the requests in turn, repeatedly, over several keep-alive connections without pipelining. It parses only the end
 * of each response, so that its own CPU time affects the measurement little.
 * @throws {Error} for a response with a status other than 200
 */
export async function generateLoad(requests: readonly HttpRequest[], options: LoadOptions): Promise<LoadResult> {
  const encoded = requests.map((request) => encode(request, options.port))
  const latencies: number[] = []
  const begun = performance.now()
  const until = begun + options.seconds * 1000
  let sent = 0
  const next = (): Buffer | null => (performance.now() < until ? (encoded[sent++ % encoded.length] ?? null) : null)
  await Promise.all(Array.from({ length: options.connections }, () => runConnection(options.port, next, latencies)))
  const seconds = (performance.now() - begun) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? NaN
  return { responses: latencies.length, seconds, p50: quantile(0.5), p99: quantile(0.99) }
}

function encode({ method, path, body }: HttpRequest, port: number): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`, 'accept: application/json']
  if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** Opens a connection, and sends the next request as soon as the response to the last one is complete, until there is none. */
function runConnection(port: number, next: () => Buffer | null, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true)
    let response = new ResponseReader()
    let sentAt = 0
    const send = (): void => {
      const request = next()
      if (request === null) return void socket.destroy()
      response = new ResponseReader()
      sentAt = performance.now()
      socket.write(request)
    }
    socket.on('connect', send).on('error', reject).on('close', resolve)
    socket.on('data', (chunk: Buffer) => {
      try {
        if (!response.isComplete(chunk)) return
        latencies.push(performance.now() - sentAt)
        send()
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
        socket.destroy()
      }
    })
  })
}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = '\r\n0\r\n\r\n'

/** Finds the end of one response: by its content-length, or by the last chunk of the chunked transfer coding. */
class ResponseReader {
  #head: Buffer | null = Buffer.alloc(0)
  #missingBytes: number | null = null
  #tail = ''

  /**
   * Takes the next chunk, and returns whether it ends the response.
   * @throws {Error} if the status is not 200
   */
  isComplete(chunk: Buffer): boolean {
    if (this.#head === null) return this.#isBodyComplete(chunk)
    this.#head = Buffer.concat([this.#head, chunk])
    const end = this.#head.indexOf(headEnd)
    if (end < 0) return false
    const head = this.#head.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`Not status 200: ${this.#head.toString('latin1')}`)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#missingBytes = length === undefined ? null : Number(length)
    const body = this.#head.subarray(end + headEnd.length - 2)
    this.#head = null
    // The body is taken with the line end before it: `lastChunk` begins with the line end of the chunk before.
    if (this.#missingBytes !== null) this.#missingBytes += 2
    return this.#isBodyComplete(body)
  }

  #isBodyComplete(chunk: Buffer): boolean {
    if (this.#missingBytes !== null) return (this.#missingBytes -= chunk.length) <= 0
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - lastChunk.length))).slice(
      -lastChunk.length,
    )
    return this.#tail === lastChunk
  }
}
