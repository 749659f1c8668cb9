import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type Bounds, readBody } from './bounds.ts'

/** The request with its body read; null where the body is out of bounds. */
export async function withBody(request: Request, bounds: Bounds): Promise<Request | null> {
  if (request.body === null) return request
  const body = await readBody(
    request.body as unknown as AsyncIterable<Uint8Array>,
    request.headers.get('content-length'),
    bounds,
  )
  const { url, method, headers, signal } = request
  return body && new Request(url, { method, headers, signal, body })
}

/** The same of a request by a socket. What is out of bounds is read off the connection and thrown away. */
export async function withSocketBody(request: IncomingMessage, bounds: Bounds): Promise<IncomingMessage | null> {
  if (request.method === 'GET' || request.method === 'HEAD') return request
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  const body = await readBody(chunks, request.headers['content-length'] ?? null, bounds)
  if (body === null) request.resume()
  // Yoga takes a body that was read before from here.
  return body && Object.assign(request, { body: Readable.from([body]) })
}
