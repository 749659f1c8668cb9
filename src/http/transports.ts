import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Bounds } from '../http-bounds.ts'
import type { OnLeave } from './answer-cache.ts'
import { type Body, fetchedBody, socketBody } from './body.ts'
import type { Stamp } from './data-versions.ts'
import type { Inbound } from './exchange.ts'
import { fromFetch, fromSocket } from './inbound.ts'
import type { BodyShare, Load } from './load.ts'
import { type Outbound, toResponse, write } from './outbound.ts'
import { inOrder } from './pipelined-requests.ts'
import type { Trace, Tracing } from './tracing.ts'

/** A request under way, whichever way it came. */
export interface Exchange {
  readonly request: Inbound
  readonly trace: Trace
  /** The state of the data when its answer is begun; null where it isn't made of data. */
  stamp: Stamp | null
  readonly readBody: () => Promise<Body>
  readonly onLeave: OnLeave
}

export interface TransportOptions {
  readonly bounds: Bounds
  readonly load: Load
  readonly begin: Tracing
  readonly senderIn: (request: Inbound) => string
  /** Answers a request: at once where the answer is kept. */
  readonly handle: (exchange: Exchange) => Outbound | Promise<Outbound>
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
      const exchange: Exchange = {
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
      const exchange: Exchange = {
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
      const answered = inOrder(request, response, () => (hasLeft ? null : handle(exchange)))
      const outbound = answered instanceof Promise ? await answered : answered
      if (outbound !== null) await write(response, inbound, outbound)
    },
  }
}
