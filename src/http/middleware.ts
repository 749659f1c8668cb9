import type { EncodedResponse } from './cache/encoded-response.ts'
import type { StreamedResponse } from './live/delivery/streamed-response.ts'
import type { Stamp } from './cache/data-versions.ts'
import type { OnLeave } from './cache/response-cache.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { Trace } from './middleware/tracing.ts'
import type { HeaderList } from './server/header-list.ts'
import type { Body } from './server/request-body.ts'

/** A request on its way through the middleware, with the results of the stages that have run. */
export interface Exchange {
  readonly request: IncomingRequest
  readonly trace: Trace
  /** Registers a callback for when the client disconnects before its response. */
  readonly onLeave: OnLeave
  readonly readBody: () => Promise<Body>
  /** Client address, or the digest of the API key after authentication: the unit of rate limits and fair queues. */
  sender: string
  /** Request body; empty until it is read, and if the request has none. */
  body: Buffer<ArrayBuffer>
  /** Response headers that do not depend on the content, such as those of the rate limit. */
  headers: HeaderList
  /** State of the data when the response is begun; null if the response contains no data. */
  stamp: Stamp | null
}

/** A response: whole, or a stream of server-sent events. */
export type Reply = EncodedResponse | StreamedResponse

/** Produces the response of an exchange. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>

/** Middleware stage: responds itself, or passes the exchange on. Stages that need no I/O respond synchronously. */
export type Middleware = (exchange: Exchange, next: Handler) => Reply | Promise<Reply>

/**
 * Composes middleware into one handler; the first in the list runs first.
 * @param stages null where a stage is not configured
 */
export function compose(stages: readonly (Middleware | null)[], handler: Handler): Handler {
  return stages.reduceRight<Handler>(
    (next, stage) => (stage === null ? next : (exchange) => stage(exchange, next)),
    handler,
  )
}
