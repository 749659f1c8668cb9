import type { CachedResponse } from './cache/cached-response.ts'
import type { Stamp } from './cache/data-versions.ts'
import type { OnLeave } from './cache/response-cache.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { Trace } from './middleware/tracing.ts'
import type { HeaderList } from './server/header-list.ts'
import type { Body } from './server/request-body.ts'

/** A request on its way through the middleware, and what the stages that it has passed found out. */
export interface Exchange {
  readonly request: IncomingRequest
  readonly trace: Trace
  /** Registers a callback for when the client leaves before its response. */
  readonly onLeave: OnLeave
  readonly readBody: () => Promise<Body>
  /** Client address, or the digest of the API key once that is checked: the unit of rate limits and fair queues. */
  sender: string
  /** Empty until the body is read, and where the request has none. */
  body: Buffer<ArrayBuffer>
  /** Headers of the response that are none of its content's, such as those of the rate limit. */
  headers: HeaderList
  /** State of the data when the response is begun; null where it is not made of data. */
  stamp: Stamp | null
}

export type Handler = (exchange: Exchange) => CachedResponse | Promise<CachedResponse>

/** A stage: responds itself, or passes the exchange on. Stages that need not wait respond synchronously. */
export type Middleware = (exchange: Exchange, next: Handler) => CachedResponse | Promise<CachedResponse>

/** Composes stages into one handler; the first in the list runs first. */
export function compose(stages: readonly Middleware[], handler: Handler): Handler {
  return stages.reduceRight<Handler>((next, stage) => (exchange) => stage(exchange, next), handler)
}
