import type { IncomingMessage } from 'node:http'
import type { Bounds } from '../bounds.ts'
import { readBody } from './bounds.ts'

/** The body of a request by fetch; null where it is out of bounds. */
export async function fetchedBody(request: Request, bounds: Bounds): Promise<Buffer<ArrayBuffer> | null> {
  if (request.body === null) return Buffer.alloc(0)
  const chunks = request.body as unknown as AsyncIterable<Uint8Array>
  return readBody(chunks, request.headers.get('content-length'), bounds)
}

/** The same of a request by a socket. What is out of bounds is read off the connection and thrown away. */
export async function socketBody(request: IncomingMessage, bounds: Bounds): Promise<Buffer<ArrayBuffer> | null> {
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  const body = await readBody(chunks, request.headers['content-length'] ?? null, bounds)
  if (body === null) request.resume()
  return body
}
