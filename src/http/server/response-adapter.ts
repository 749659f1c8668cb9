import type { ServerResponse } from 'node:http'
import { discardedBytes, unsentBytes } from '../../limits.ts'
import { awaitsContinue, discardRest } from './request-body.ts'
import { etagOf, isHeld } from '../middleware/conditional-requests.ts'
import { encodingFor } from '../middleware/compression.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { CachedResponse } from '../cache/cached-response.ts'
import { type HeaderList, headerList, pairsOf } from './header-list.ts'
import { createUnsentBytes } from './capacity/unsent-bytes.ts'

/** An answer as it leaves: its body in bytes, where it has one. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly bytes: Buffer | null
}

/**
 * What is sent of an answer to the client that asked: packed as it asked for, or nothing where it has it.
 * @param own headers of this exchange
 */
export function outbound(
  request: IncomingRequest,
  finished: CachedResponse,
  own: HeaderList,
): OutgoingResponse | Promise<OutgoingResponse> {
  const { status, bytes, tag } = finished
  if (status === 204) return { status, headers: together(finished.headers, own), bytes: null }
  const encoding = encodingFor(bytes, request.header('accept-encoding'))
  // RFC 9110, section 13.1.2: 304 answers GET and HEAD alone; a query by POST changes nothing that 412 could save.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && tag !== null && status === 200 && isHeld(tag, request.header('if-none-match'))) {
    const { 'content-type': _, ...headers } = finished.headers
    return { status: 304, headers: together({ ...headers, etag: etagOf(tag, encoding) }, own), bytes: null }
  }
  const packing = encoding === null ? null : finished.packed(encoding)
  if (encoding === null || packing === null) return { status, headers: finished.plainHeaders.concat(own), bytes }
  return packing.then((packed) => {
    const length = { 'content-encoding': encoding, 'content-length': String(packed.length) }
    const etag = tag === null ? {} : { etag: etagOf(tag, encoding) }
    return { status, headers: together({ ...finished.headers, ...length, ...etag }, own), bytes: packed }
  })
}

function together(headers: CachedResponse['headers'], own: HeaderList): HeaderList {
  return [...headerList(headers), ...own]
}

export function toResponse({ method }: IncomingRequest, { status, headers, bytes }: OutgoingResponse): Response {
  const body = method === 'HEAD' ? null : (bytes as Buffer<ArrayBuffer> | null)
  return new Response(body, { status, headers: pairsOf(headers) })
}

/** Of the whole process. */
const unsent = createUnsentBytes(unsentBytes)

/** What is ready to leave. */
let leaving: Leaving[] = []

/**
 * Sends an answer when what the network has brought has been seen, with all others that are ready by then: to wake the
 * clients that wait is dearer than to write, and so it is done once for many answers.
 * @throws where its headers can't be sent
 */
export function write(
  response: ServerResponse,
  { method }: IncomingRequest,
  { status, headers, bytes }: OutgoingResponse,
): Promise<void> {
  if (leaving.length === 0) setImmediate(leave)
  return new Promise((resolve, reject) => {
    leaving.push({ response, status, headers, bytes: method === 'HEAD' ? null : bytes, resolve, reject })
  })
}

interface Leaving extends OutgoingResponse {
  readonly response: ServerResponse
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

function leave(): void {
  const ready = leaving
  leaving = []
  for (const { response, status, headers, bytes, resolve, reject } of ready) {
    try {
      const isUnread = !response.req.complete
      // A client that was not told to send its body sends none, or sends it all the same: nobody can tell what comes.
      if (isUnread && awaitsContinue(response.req)) response.setHeader('connection', 'close')
      response.writeHead(status, headers as string[])
      response.end(bytes ?? undefined)
      if (isUnread) discardRest(response.req, discardedBytes)
      if (bytes !== null) unsent.add(response, bytes)
      resolve()
    } catch (error) {
      reject(error)
    }
  }
}
