import type { IncomingMessage } from 'node:http'
import type { Bounds } from '../bounds.ts'

/** The body of a request by fetch; null as soon as it is out of bounds, by what it says of its length or by what came. */
export async function fetchedBody(
  { body, headers }: Pick<Request, 'body' | 'headers'>,
  { bodyBytes }: Bounds,
): Promise<Buffer<ArrayBuffer> | null> {
  if (body === null) return Buffer.alloc(0)
  if (Number(headers.get('content-length')) > bodyBytes) return null
  const read: Uint8Array[] = []
  let length = 0
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > bodyBytes) return null
    read.push(chunk)
  }
  return Buffer.concat(read)
}

/** The same of a request by a socket. What is out of bounds is read off the connection and thrown away. */
export function socketBody(request: IncomingMessage, { bodyBytes }: Bounds): Promise<Buffer<ArrayBuffer> | null> {
  return new Promise((resolve, reject) => {
    const read: Buffer<ArrayBuffer>[] = []
    let length = Number(request.headers['content-length']) > bodyBytes ? Infinity : 0
    if (length > bodyBytes) resolve(null)
    request.on('data', (chunk: Buffer<ArrayBuffer>) => {
      length += chunk.length
      if (length <= bodyBytes) read.push(chunk)
      else resolve(null)
    })
    request.on('end', () => resolve(read.length === 1 && read[0] !== undefined ? read[0] : Buffer.concat(read)))
    request.on('error', reject)
  })
}
