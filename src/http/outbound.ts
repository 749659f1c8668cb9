import type { ServerResponse } from 'node:http'
import { etagOf, isHeld } from './caching.ts'
import { encodingFor } from './compression.ts'
import type { Inbound } from './exchange.ts'
import type { Finished } from './finished.ts'

/** An answer as it leaves: its body in bytes, where it has one. */
export interface Outbound {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer | null
}

/**
 * What is sent of an answer to the client that asked: packed as it asked for, or nothing where it has it.
 * @param own headers of this exchange
 */
export async function outbound(
  request: Inbound,
  finished: Finished,
  own: Readonly<Record<string, string>>,
): Promise<Outbound> {
  const { status, bytes, tag } = finished
  const headers = { ...finished.headers, ...own }
  if (status === 204) return { status, headers, bytes: null }
  const encoding = encodingFor(bytes, request.header('accept-encoding'))
  if (tag !== null) headers['etag'] = etagOf(tag, encoding)
  if (tag !== null && status === 200 && isHeld(tag, request.header('if-none-match'))) {
    delete headers['content-type']
    return { status: 304, headers, bytes: null }
  }
  if (encoding !== null) headers['content-encoding'] = encoding
  const sent = encoding === null ? bytes : await finished.packed(encoding)
  headers['content-length'] = String(sent.length)
  return { status, headers, bytes: sent }
}

export function toResponse({ method }: Inbound, { status, headers, bytes }: Outbound): Response {
  return new Response(method === 'HEAD' ? null : (bytes as Buffer<ArrayBuffer> | null), { status, headers })
}

export function write(response: ServerResponse, { method }: Inbound, { status, headers, bytes }: Outbound): void {
  response.writeHead(status, headers)
  response.end(method === 'HEAD' || bytes === null ? undefined : bytes)
}
