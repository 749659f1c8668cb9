import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpLimits } from '../../limits.ts'
import type { OnLeave } from '../cache/response-cache.ts'
import { type Body, fetchedBody, socketBody } from './request-body.ts'
import type { Stamp } from '../cache/data-versions.ts'
import type { IncomingRequest } from '../request-context.ts'
import { fromFetch, fromSocket } from './request-adapter.ts'
import type { BodyShare, SharedCapacity } from './load.ts'
import { type OutgoingResponse, toResponse, write } from './response-adapter.ts'
import { afterEarlierRequests } from './pipelined-requests.ts'
import type { Trace, Tracing } from '../middleware/tracing.ts'

/** A request under way, whichever way it came. */
export interface RequestInFlight {
  readonly request: IncomingRequest
  readonly trace: Trace
  /** The state of the data when its answer is begun; null where it isn't made of data. */
  stamp: Stamp | null
  readonly readBody: () => Promise<Body>
  readonly onLeave: OnLeave
}

export interface TransportOptions {
  readonly bounds: HttpLimits
  readonly load: SharedCapacity
  readonly begin: Tracing
  readonly senderIn: (request: IncomingRequest) => string
  /** Answers a request: at once where the answer is kept. */
  readonly handle: (exchange: RequestInFlight) => OutgoingResponse | Promise<OutgoingResponse>
}

/** The gateway, by fetch and by a socket. */
export interface App {
  fetch(request: Request): Promise<Response>
  listener(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** Answers requests that come by fetch or by a socket through one handler. */
export function transports({ bounds, load, begin, handle, senderIn }: TransportOptions): App {
  return {
    async fetch(request) {
      const inbound = fromFetch(request)
      const trace = begin(inbound)
      const share = load.bodyShare(senderIn(inbound))
      const exchange: RequestInFlight = {
        request: inbound,
        trace,
        stamp: null,
        readBody: () => fetchedBody(request, bounds, share),
        onLeave: (giveUp) => request.signal.addEventListener('abort', giveUp, { once: true }),
      }
      const answered = await Promise.resolve(handle(exchange)).finally(() => share.release())
      trace.end(answered.status)
      return toResponse(inbound, answered)
    },

    async listener(request, response) {
      const inbound = fromSocket(request)
      const trace = begin(inbound)
      let share: BodyShare | undefined
      let hasLeft = false
      const exchange: RequestInFlight = {
        request: inbound,
        trace,
        stamp: null,
        readBody: () => socketBody(request, response, bounds, (share = load.bodyShare(senderIn(inbound)))),
        onLeave: (giveUp) => {
          if (hasLeft) giveUp()
          else response.once('close', () => response.writableFinished || giveUp())
        },
      }
      response.on('close', () => {
        hasLeft = true
        share?.release()
        trace.end(response.writableFinished ? response.statusCode : null)
      })
      // One that waited for those before it on its connection is not begun for a client that has left.
      const answered = afterEarlierRequests(request, response, () => (hasLeft ? null : handle(exchange)))
      const outbound = answered instanceof Promise ? await answered : answered
      if (outbound !== null) await write(response, inbound, outbound)
    },
  }
}
