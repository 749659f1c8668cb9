import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HttpLimits } from '../../limits.ts'
import { bodyChunkBytes } from '../../limits/connections.ts'
import type { BoundedRequest } from './bounded-request.ts'
import type { BodyShare } from './capacity/process-capacity.ts'

/** A body, or the reason why it is not read. */
export type Body = Buffer<ArrayBuffer> | Unread
export type Unread = 'too large' | 'too many chunks' | 'overloaded' | 'interrupted'

/**
 * Reads the body of a request of the Fetch API, up to its limit.
 * @param share counts the bytes read, and the memory of each chunk
 */
export async function fetchedBody(
  { body, headers }: Pick<Request, 'body' | 'headers'>,
  { bodyBytes }: HttpLimits,
  share: BodyShare,
): Promise<Body> {
  if (body === null) return Buffer.alloc(0)
  if (Number(headers.get('content-length')) > bodyBytes) return 'too large'
  const read: Uint8Array[] = []
  let length = 0
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > bodyBytes) return 'too large'
    if (!share.add(chunk.length + bodyChunkBytes)) return 'overloaded'
    read.push(chunk)
  }
  return Buffer.concat(read)
}

/**
 * Reads the body of a request of node:http, up to its limit, and sends 100 Continue if the client expects it (RFC 9110,
 * section 10.1.1). Bytes beyond the limit are discarded. A client that disconnects before the end is no error.
 * @param share counts the bytes read, and the memory of each chunk
 */
export function socketBody(
  request: BoundedRequest,
  response: ServerResponse,
  { bodyBytes }: HttpLimits,
  share: BodyShare,
): Promise<Body> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length']) > bodyBytes) return resolve('too large')
    if (awaitsContinue(request)) response.writeContinue()
    let read: Buffer<ArrayBuffer>[] = []
    let length = 0
    const refuse = (reason: Unread): void => {
      read = []
      request.off('data', take)
      resolve(reason)
    }
    const take = (chunk: Buffer<ArrayBuffer>): void => {
      length += chunk.length
      if (length > bodyBytes) return refuse('too large')
      if (!share.add(chunk.length + bodyChunkBytes)) return refuse('overloaded')
      read.push(chunk)
    }
    request.onTooManyChunks(() => refuse('too many chunks'))
    request.on('data', take)
    request.on('end', () => resolve(read.length === 1 && read[0] !== undefined ? read[0] : Buffer.concat(read)))
    request.on('error', () => resolve('interrupted'))
  })
}

/** Returns whether a client waits for 100 Continue before it sends its body. */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}

/**
 * Reads and discards the rest of the body of a request that was answered, so that the client reads the response and can
 * reuse the connection. The connection is closed if the client sends more bytes or chunks than the limits.
 */
export function discardRest(request: BoundedRequest, discardedBytes: number): void {
  let length = 0
  request.onTooManyChunks(() => request.socket.destroySoon())
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > discardedBytes) request.socket.destroy()
  })
}
