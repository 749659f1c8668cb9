import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpLimits } from '../../limits.ts'
import type { BodyShare } from './load.ts'

/** A body, or why it isn't read. */
export type Body = Buffer<ArrayBuffer> | 'too large' | 'overloaded'

/**
 * Reads the body of a request by fetch, up to its bound.
 * @param share counts what is read
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
    if (!share.add(chunk.length)) return 'overloaded'
    read.push(chunk)
  }
  return Buffer.concat(read)
}

/**
 * Reads the body of a request by a socket, up to its bound; the client is told to go on where it waits for that
 * (RFC 9110, section 10.1.1). What comes after the bound is thrown away.
 * @param share counts what is read
 */
export function socketBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyBytes }: HttpLimits,
  share: BodyShare,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length']) > bodyBytes) return resolve('too large')
    if (awaitsContinue(request)) response.writeContinue()
    let read: Buffer<ArrayBuffer>[] = []
    let length = 0
    const refuse = (reason: 'too large' | 'overloaded'): void => {
      read = []
      request.off('data', take)
      resolve(reason)
    }
    const take = (chunk: Buffer<ArrayBuffer>): void => {
      length += chunk.length
      if (length > bodyBytes) return refuse('too large')
      if (!share.add(chunk.length)) return refuse('overloaded')
      read.push(chunk)
    }
    request.on('data', take)
    request.on('end', () => resolve(read.length === 1 && read[0] !== undefined ? read[0] : Buffer.concat(read)))
    request.on('error', reject)
  })
}

/** Whether a client sends its body only when it is told to. */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}

/**
 * Reads what is left of the body of a request that was answered, so that the client comes to read its answer and may
 * use the connection again; a client that sends more than the bound is cut.
 */
export function discardRest(request: IncomingMessage, discardedBytes: number): void {
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > discardedBytes) request.socket.destroy()
  })
}
