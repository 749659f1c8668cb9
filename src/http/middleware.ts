import type { EncodedResponse, HeaderList, NotifiedState } from './cache/encoded-response.ts'
import type { StreamedResponse } from './live/delivery/streamed-response.ts'
import type { OnDisconnect } from './cache/productions.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { Trace } from './middleware/tracing.ts'
import type { Body } from './server/request-body.ts'

/** A request on its way through the middleware, with the results of the stages that have run. */
export interface Exchange {
  readonly request: IncomingRequest
  readonly trace: Trace
  /** Registers a callback for when the client disconnects before its response. */
  readonly onDisconnect: OnDisconnect
  readonly readBody: () => Promise<Body>
  /** Client address, or the digest of the API key after authentication: the unit of rate limits and fair queues. */
  sender: string
  /** Request body; empty until it is read, and if the request has none. */
  body: Buffer<ArrayBuffer>
  /** Response headers about the sender, such as those of the rate limit: omitted where an edge may store the response. */
  senderHeaders: HeaderList
  /** State of the data when the response is started; null if the response contains no data. */
  stateAtStart: NotifiedState | null
}

/** The body of an exchange that no stage has read. */
export const emptyBody = Buffer.alloc(0)

/** A response: whole, or a stream of server-sent events. */
export type HandlerResponse = EncodedResponse | StreamedResponse

/** Produces the response of an exchange. */
export type Handler = (exchange: Exchange) => HandlerResponse | Promise<HandlerResponse>

/**
 * Middleware stage: returns a handler that responds itself, or passes the exchange on to the next one. Handlers that need
 * no I/O respond synchronously.
 */
export type Middleware = (next: Handler) => Handler

/** Stages by path: the requests for other paths do not pass them. */
export type PathStages = ReadonlyMap<string, Middleware>

type Stage = Middleware | PathStages | null

/** The handlers of the paths that have stages of their own, and that of all other paths. */
export interface HandlersByPath {
  readonly byPath: ReadonlyMap<string, Handler>
  readonly others: Handler
}

/**
 * Composes the stages of each path into one handler, once; the first in the list runs first.
 * @param stages null where a stage is not configured
 */
export function compose(stages: readonly Stage[], handler: Handler): HandlersByPath {
  const paths = stages.flatMap((stage) => (stage === null || typeof stage === 'function' ? [] : [...stage.keys()]))
  const composed = (path: string | null): Handler =>
    stages.reduceRight((next, stage) => stageFor(stage, path)?.(next) ?? next, handler)
  return { byPath: new Map(Array.from(new Set(paths), (path) => [path, composed(path)])), others: composed(null) }
}

function stageFor(stage: Stage, path: string | null): Middleware | null {
  if (stage === null || typeof stage === 'function') return stage
  return path === null ? null : (stage.get(path) ?? null)
}
