import { Agent, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

/** A request as it goes onto the wire: nothing of it is made good on the way. */
export interface HttpRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export interface TimedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly milliseconds: number
}

export interface Client {
  /** Fails where no whole answer comes. */
  send(request: HttpRequest): Promise<TimedResponse>
  close(): void
}

/** Long enough for an answer that comes after every deadline to be told as such. */
const timeoutMilliseconds = 60_000

/** Asks a gateway over so many connections at once, which it keeps. */
export function createClient(port: number, connections: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    close: () => agent.destroy(),
    send: ({ method, target, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const started = performance.now()
        const options = { agent, port, host: '127.0.0.1', method, path: target, timeout: timeoutMilliseconds }
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        const outgoing = request({ ...options, headers: { ...length, ...headers } }, (response) => {
          const chunks: Buffer[] = []
          const end = (): void => {
            const milliseconds = performance.now() - started
            const { statusCode: status = 0, headers: responseHeaders } = response
            resolve({
              status,
              headers: responseHeaders,
              body: decompress(Buffer.concat(chunks), responseHeaders),
              milliseconds,
            })
          }
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          // A refusal of what could not be read is written before it is known that HEAD has no body.
          if (method === 'HEAD') end()
          response.on('end', end)
        })
        outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer in ${timeoutMilliseconds} ms`)))
        outgoing.on('error', reject)
        outgoing.end(body)
      }),
  }
}

function decompress(bytes: Buffer, { 'content-encoding': encoding }: TimedResponse['headers']): string {
  if (bytes.length === 0 || encoding === undefined) return bytes.toString()
  return (encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString()
}

/** Runs work on each of the items, so many at a time, in their order. */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}
