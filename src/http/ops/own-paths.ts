import type { EncodedResponse } from '../cache/encoded-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Middleware, PathStages } from '../middleware.ts'

/** Responds to the requests for one path, with any method. */
export type PathHandler = (request: IncomingRequest) => EncodedResponse | Promise<EncodedResponse>

/** Returns the stages of the gateway's own paths, such as probes and pages, which bypass the response cache. */
export function ownPaths(handlers: ReadonlyMap<string, PathHandler>): PathStages {
  return new Map(Array.from(handlers, ([path, respond]) => [path, stageOf(respond)]))
}

function stageOf(respond: PathHandler): Middleware {
  return () => (exchange) => respond(exchange.request)
}
