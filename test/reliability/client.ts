import { Agent, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

/** A request as it goes onto the wire: nothing of it is made good on the way. */
export interface Asked {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly milliseconds: number
}

export interface Client {
  /** Fails where no whole answer comes. */
  ask(asked: Asked): Promise<Answered>
  close(): void
}

/** Long enough for an answer that comes after every deadline to be told as such. */
const patienceMilliseconds = 60_000

/** Asks a gateway over so many connections at once, which it keeps. */
export function clientOf(port: number, connections: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    close: () => agent.destroy(),
    ask: ({ method, target, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const started = performance.now()
        const options = { agent, port, host: '127.0.0.1', method, path: target, timeout: patienceMilliseconds }
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        const sent = request({ ...options, headers: { ...length, ...headers } }, (response) => {
          const chunks: Buffer[] = []
          const end = (): void => {
            const milliseconds = performance.now() - started
            const { statusCode: status = 0, headers: came } = response
            resolve({ status, headers: came, body: unpacked(Buffer.concat(chunks), came), milliseconds })
          }
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          // A refusal of what could not be read is written before it is known that HEAD has no body.
          if (method === 'HEAD') end()
          response.on('end', end)
        })
        sent.on('timeout', () => sent.destroy(new Error(`no answer in ${patienceMilliseconds} ms`)))
        sent.on('error', reject)
        sent.end(body)
      }),
  }
}

function unpacked(bytes: Buffer, { 'content-encoding': encoding }: Answered['headers']): string {
  if (bytes.length === 0 || encoding === undefined) return bytes.toString()
  return (encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString()
}

/** Runs work on each of the items, so many at a time, in their order. */
export async function eachOf<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
