import { connect } from 'node:net'

/** A request as the load sends it, again and again. */
export interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
}

/** Result of a load: a latency for each answer, in milliseconds. */
export interface LoadResult {
  readonly answers: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
}

/**
 * Asks from several connections at once, each for one thing at a time, in turn through the exchanges. It reads only as
 * much of an answer as tells where it ends, so that what is measured is the other side.
 * @throws where an answer's status is not 200
 */
export async function load(exchanges: readonly Exchange[], options: LoadOptions): Promise<LoadResult> {
  const requests = exchanges.map((exchange) => bytesOf(exchange, options.port))
  const latencies: number[] = []
  const begun = performance.now()
  const until = begun + options.seconds * 1000
  let sent = 0
  const next = (): Buffer | null => (performance.now() < until ? (requests[sent++ % requests.length] ?? null) : null)
  await Promise.all(Array.from({ length: options.connections }, () => ask(options.port, next, latencies)))
  const seconds = (performance.now() - begun) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? NaN
  return { answers: latencies.length, seconds, p50: quantile(0.5), p99: quantile(0.99) }
}

function bytesOf({ method, path, body }: Exchange, port: number): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`, 'accept: application/json']
  if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** One connection: sends what comes next as soon as the answer to the last is whole. */
function ask(port: number, next: () => Buffer | null, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true)
    let answer = new AnswerReader()
    let sentAt = 0
    const send = (): void => {
      const request = next()
      if (request === null) return void socket.destroy()
      answer = new AnswerReader()
      sentAt = performance.now()
      socket.write(request)
    }
    socket.on('connect', send).on('error', reject).on('close', resolve)
    socket.on('data', (chunk: Buffer) => {
      try {
        if (!answer.isWhole(chunk)) return
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

/** Tells where an answer ends: by its length, or by its last chunk. */
class AnswerReader {
  #head: Buffer | null = Buffer.alloc(0)
  #missing: number | null = null
  #tail = ''

  isWhole(chunk: Buffer): boolean {
    if (this.#head === null) return this.#isBodyWhole(chunk)
    this.#head = Buffer.concat([this.#head, chunk])
    const end = this.#head.indexOf(headEnd)
    if (end < 0) return false
    const head = this.#head.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`Not answered with 200: ${this.#head.toString('latin1')}`)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#missing = length === undefined ? null : Number(length)
    const body = this.#head.subarray(end + headEnd.length - 2)
    this.#head = null
    // The line's end before the body stands for the one before the first chunk.
    if (this.#missing !== null) this.#missing += 2
    return this.#isBodyWhole(body)
  }

  #isBodyWhole(chunk: Buffer): boolean {
    if (this.#missing !== null) return (this.#missing -= chunk.length) <= 0
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - lastChunk.length))).slice(
      -lastChunk.length,
    )
    return this.#tail === lastChunk
  }
}
