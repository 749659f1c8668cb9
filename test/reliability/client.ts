import { Agent, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

/** An HTTP request, sent without normalisation of its target or headers. */
export interface HttpRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Headers of a GraphQL request. */
export const graphqlHeaders = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }

/** Returns a POST request with a GraphQL query. */
export function graphqlRequest(query: string, variables?: Readonly<Record<string, unknown>>): HttpRequest {
  return { method: 'POST', target: '/graphql', headers: graphqlHeaders, body: JSON.stringify({ query, variables }) }
}

/** A decompressed response, with the time from sending the request to the end of the body. */
export interface TimedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly milliseconds: number
}

/** An HTTP client with keep-alive connections. */
export interface Client {
  /** Sends a request; rejects if the connection fails before the response is complete. */
  send(request: HttpRequest): Promise<TimedResponse>
  close(): void
}

/** Longer than any deadline of the gateway, so that a late response is measured. */
const timeoutMilliseconds = 60_000

/**
 * Creates a client of a gateway on this machine.
 * @param connections maximum number of concurrent connections; further requests wait
 */
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
          // The response to an unparsable HEAD request has a body, which node:http does not read.
          if (method === 'HEAD') end()
          response.on('end', end)
        })
        outgoing.on('timeout', () => outgoing.destroy(new Error(`no response in ${timeoutMilliseconds} ms`)))
        outgoing.on('error', reject)
        outgoing.end(body)
      }),
  }
}

function decompress(bytes: Buffer, { 'content-encoding': encoding }: TimedResponse['headers']): string {
  if (bytes.length === 0 || encoding === undefined) return bytes.toString()
  return (encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString()
}

/** Runs work on each item in order, on at most `concurrency` items at a time. */
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
