import type { OutgoingResponse } from '../cache/encoded-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { type Exchange, emptyBody } from '../middleware.ts'
import { senderOf } from '../sender.ts'
import { fetchedStream } from './byte-sink.ts'
import { BodyShare } from './capacity/process-capacity.ts'
import type { AdapterOptions } from './node-adapter.ts'
import { fetchedBody } from './request-body.ts'

/** Creates the adapter that passes requests of the Fetch API to the gateway's handler. */
export function fetchAdapter(options: AdapterOptions): (request: Request) => Promise<Response> {
  const { limits, capacity, startTrace, handle, trustedProxies } = options
  return async (request) => {
    const incoming = fromFetch(request)
    const trace = startTrace(incoming)
    const sender = senderOf(incoming, trustedProxies)
    let share: BodyShare | undefined
    const exchange: Exchange = {
      body: emptyBody,
      senderHeaders: [],
      stateAtStart: null,
      request: incoming,
      trace,
      sender,
      readBody: () => fetchedBody(request, limits, (share = new BodyShare(capacity.bodies, exchange.sender))),
      onDisconnect: (cancel) => {
        if (request.signal.aborted) cancel()
        else request.signal.addEventListener('abort', cancel, { once: true })
      },
    }
    const outgoing = await Promise.resolve(handle(exchange)).finally(() => share?.release())
    trace.end(outgoing.status)
    return toResponse(incoming, outgoing, request.signal)
  }
}

/** Adapts a request of the Fetch API. */
export function fromFetch(request: Request): IncomingRequest {
  const { pathname, search, searchParams } = new URL(request.url)
  return {
    method: request.method,
    target: pathname + search,
    path: pathname,
    query: searchParams,
    httpVersion: '1.1',
    rawHeaders: [...request.headers].flat(),
    header: (name) => request.headers.get(name),
    headerRecord: () => Object.fromEntries(request.headers),
    remoteAddress: null,
  }
}

/**
 * Converts a response into one of the Fetch API.
 * @param signal ends a response that stays open
 */
function toResponse(
  { method }: IncomingRequest,
  { status, headers, bytes, stream }: OutgoingResponse,
  signal: AbortSignal,
): Response {
  const pairs = headers.flatMap((name, place): [string, string][] =>
    place % 2 === 0 ? [[name, headers[place + 1] ?? '']] : [],
  )
  if (stream !== undefined) {
    const { body, sink } = fetchedStream(signal)
    stream(sink)
    return new Response(body, { status, headers: pairs })
  }
  const body = method === 'HEAD' ? null : (bytes as Buffer<ArrayBuffer> | null)
  return new Response(body, { status, headers: pairs })
}
