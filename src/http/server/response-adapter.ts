import type { ServerResponse } from 'node:http'
import { discardedBytes, unsentBytes } from '../../limits.ts'
import type { BoundedRequest } from './bounded-request.ts'
import { awaitsContinue, discardRest } from './request-body.ts'
import { beginStream, type ByteSink, fetchedStream } from './byte-sink.ts'
import { etagOf, isHeld } from '../middleware/conditional-requests.ts'
import { encodingFor } from '../middleware/compression.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { EncodedResponse } from '../cache/encoded-response.ts'
import type { StreamedResponse } from '../live/delivery/streamed-response.ts'
import { type HeaderList, headerList, pairsOf } from './header-list.ts'
import { createUnsentBytes, type UnsentBytes } from './capacity/unsent-bytes.ts'

/** A response as it is sent, with its body in bytes, if any. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly bytes: Buffer | null
  /** Called in place of writing a body, with a body that stays open; null for HEAD. */
  readonly stream?: (sink: ByteSink | null) => void
}

/**
 * Adapts a response to its client: compressed as negotiated, or 304 if the client has the content.
 * @param own headers of this exchange
 */
export function outbound(
  request: IncomingRequest,
  finished: EncodedResponse,
  own: HeaderList,
): OutgoingResponse | Promise<OutgoingResponse> {
  const { status, bytes, etagDigest: digest } = finished
  if (status === 204) return { status, headers: together(finished.headers, own), bytes: null }
  const encoding = encodingFor(bytes, request.header('accept-encoding'))
  // RFC 9110, section 13.1.2: 304 is for GET and HEAD only; a query by POST has no effect that 412 could prevent.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && digest !== null && status === 200 && isHeld(digest, request.header('if-none-match'))) {
    const { 'content-type': _, ...headers } = finished.headers
    return { status: 304, headers: together({ ...headers, etag: etagOf(digest, encoding) }, own), bytes: null }
  }
  const packing = encoding === null ? null : finished.packed(encoding)
  if (encoding === null || packing === null) return { status, headers: finished.plainHeaders.concat(own), bytes }
  return packing.then((packed) => {
    const length = { 'content-encoding': encoding, 'content-length': String(packed.length) }
    const etag = digest === null ? {} : { etag: etagOf(digest, encoding) }
    return { status, headers: together({ ...finished.headers, ...length, ...etag }, own), bytes: packed }
  })
}

function together(headers: EncodedResponse['headers'], own: HeaderList): HeaderList {
  return [...headerList(headers), ...own]
}

/** Adapts a response that stays open. */
export function outboundStream({ headers, begin }: StreamedResponse, own: HeaderList): OutgoingResponse {
  return { status: 200, headers: together(headers, own), bytes: null, stream: begin }
}

/**
 * Converts a response into one of the Fetch API.
 * @param signal ends a response that stays open
 */
export function toResponse(
  { method }: IncomingRequest,
  { status, headers, bytes, stream }: OutgoingResponse,
  signal: AbortSignal,
): Response {
  if (stream !== undefined && method !== 'HEAD') {
    const { body, sink } = fetchedStream(signal)
    stream(sink)
    return new Response(body, { status, headers: pairsOf(headers) })
  }
  stream?.(null)
  const body = method === 'HEAD' ? null : (bytes as Buffer<ArrayBuffer> | null)
  return new Response(body, { status, headers: pairsOf(headers) })
}

/**
 * Writes a response; rejects if its headers are invalid. Responses are flushed once per event-loop iteration: fewer
 * system calls and client wake-ups.
 */
export type WriteResponse = (
  response: ServerResponse<BoundedRequest>,
  request: IncomingRequest,
  outgoing: OutgoingResponse,
) => Promise<void>

interface QueuedResponse extends OutgoingResponse {
  readonly response: ServerResponse<BoundedRequest>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Creates the writer of a server, with a limit on the bytes that its clients have not received. */
export function createResponseWriter(unsent = createUnsentBytes(unsentBytes)): WriteResponse {
  let queue: QueuedResponse[] = []

  function flush(): void {
    const ready = queue
    queue = []
    for (const each of ready) {
      try {
        send(each, unsent)
        each.resolve()
      } catch (error) {
        each.reject(error)
      }
    }
  }

  return (response, { method }, outgoing) => {
    if (queue.length === 0) setImmediate(flush)
    const bytes = method === 'HEAD' ? null : outgoing.bytes
    return new Promise((resolve, reject) => queue.push({ ...outgoing, response, bytes, resolve, reject }))
  }
}

function send({ response, status, headers, bytes, stream }: QueuedResponse, unsent: UnsentBytes): void {
  if (stream !== undefined && response.req.method !== 'HEAD') {
    response.req.place?.becomeStream()
    return stream(beginStream(response, headers))
  }
  stream?.(null)
  const isUnread = !response.req.complete
  // A client that did not receive 100 Continue may send its body or omit it: the next bytes are ambiguous.
  if (isUnread && awaitsContinue(response.req)) response.setHeader('connection', 'close')
  response.writeHead(status, headers as string[])
  response.end(bytes ?? undefined)
  if (isUnread) discardRest(response.req, discardedBytes)
  if (bytes !== null) unsent.add(response, bytes)
}
