import type { ServerResponse } from 'node:http'
import type { HttpLimits } from '../../limits.ts'
import type { BoundedRequest } from './bounded-request.ts'
import { fetchedBody, socketBody } from './request-body.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Exchange } from '../middleware.ts'
import { fromFetch, fromSocket } from './request-adapter.ts'
import type { BodyShare, SharedCapacity } from './capacity/shared-capacity.ts'
import { createResponseWriter, type OutgoingResponse, toResponse } from './response-adapter.ts'
import { createRequestOrder } from './pipelined-requests.ts'
import type { Tracing } from '../middleware/tracing.ts'

export interface TransportOptions {
  readonly limits: HttpLimits
  readonly capacity: SharedCapacity
  readonly begin: Tracing
  /** Identifies clients by their address. */
  readonly senderIn: (request: IncomingRequest) => string
  /** Responds to a request: synchronously if the response is cached. */
  readonly handle: (exchange: Exchange) => OutgoingResponse | Promise<OutgoingResponse>
}

/** The gateway, through the Fetch API and through node:http. */
export interface Transports {
  fetch(request: Request): Promise<Response>
  listener(request: BoundedRequest, response: ServerResponse<BoundedRequest>): Promise<void>
}

const initial = { body: Buffer.alloc(0), headers: [], stamp: null } satisfies Partial<Exchange>

/** Creates the adapters that pass requests of the Fetch API and of node:http to one handler. */
export function transports({ limits, capacity, begin, handle, senderIn }: TransportOptions): Transports {
  const afterEarlierRequests = createRequestOrder()
  const write = createResponseWriter()
  return {
    async fetch(request) {
      const inbound = fromFetch(request)
      const trace = begin(inbound)
      let share: BodyShare | undefined
      const exchange: Exchange = {
        request: inbound,
        trace,
        ...initial,
        sender: senderIn(inbound),
        readBody: () => fetchedBody(request, limits, (share = capacity.bodyShare(exchange.sender))),
        onLeave: (giveUp) => request.signal.addEventListener('abort', giveUp, { once: true }),
      }
      const answered = await Promise.resolve(handle(exchange)).finally(() => share?.release())
      trace.end(answered.status)
      return toResponse(inbound, answered, request.signal)
    },

    async listener(request, response) {
      const inbound = fromSocket(request)
      const trace = begin(inbound)
      let share: BodyShare | undefined
      let hasLeft = false
      const exchange: Exchange = {
        request: inbound,
        trace,
        ...initial,
        sender: senderIn(inbound),
        readBody: () => socketBody(request, response, limits, (share = capacity.bodyShare(exchange.sender))),
        onLeave: (giveUp) => {
          if (hasLeft) giveUp()
          else response.on('close', () => response.writableFinished || giveUp())
        },
      }
      response.on('close', () => {
        hasLeft = true
        share?.release()
        trace.end(response.writableFinished ? response.statusCode : null)
      })
      // A request that waited for earlier ones on its connection does not begin if its client has disconnected.
      const answered = afterEarlierRequests(request, response, () => (hasLeft ? null : handle(exchange)))
      const outbound = answered instanceof Promise ? await answered : answered
      if (outbound !== null) await write(response, inbound, outbound)
    },
  }
}
