import { LRUCache } from 'lru-cache'
import type { RequestContext } from '../../../../graphql/execution/context.ts'
import type { DataVersions } from '../../../cache/data-versions.ts'
import type { ResponseCache } from '../../../cache/response-cache.ts'
import type { IncomingRequest } from '../../../incoming-request.ts'
import type { Produce, ProducedExchange, Respond } from '../../../produce.ts'
import { type Evaluation, laterVersion } from '../shared-query.ts'

/** Makes a response for streams, from the response cache or anew, as for any other request. */
export type Evaluate = (requested: RequestedResponse) => Promise<Evaluation>

/** A response for streams. */
export interface RequestedResponse {
  /** Path of the request that it would be the response to, by which its errors are formatted. */
  readonly path: string
  /** Key in the response cache. */
  readonly key: string
  readonly respond: Respond<ProducedExchange>
}

export interface EvaluateOptions {
  readonly cache: ResponseCache
  readonly versions: DataVersions
  readonly produce: Produce
  /** Context of the work that all streams share. */
  readonly streamsContext: RequestContext
}

/** Number of responses whose failure is known to be reported; that of one that is forgotten is reported again. */
const reportedKeys = 1_000

/**
 * Creates the evaluation of responses for streams. One that fails is tried again and again: the unexpected errors of a
 * response are reported by its first evaluation that has any, and not again before one succeeds.
 */
export function createEvaluate({ cache, versions, produce, streamsContext }: EvaluateOptions): Evaluate {
  const reported = new LRUCache<string, true>({ max: reportedKeys })
  return async ({ path, key, respond }) => {
    const notified = versions.currentState().version
    const isReported = reported.has(key)
    let errors = 0
    const report = (error: unknown): string => {
      errors++
      return isReported ? streamsContext.sender : streamsContext.report(error)
    }
    const exchange = { request: requestOf(path), sender: streamsContext.sender, trace: { report } }
    const response = await cache.answer(
      key,
      streamsContext.sender,
      () => undefined,
      (onAllLeft) => produce(exchange, onAllLeft, respond),
    )
    if (errors > 0) reported.set(key, true)
    else if (response.status < 500) reported.delete(key)
    const version = response.origin.version === '' ? null : response.origin.version
    // The response is current at the version that this process was notified of before it was evaluated, even if it is from the cache.
    return { response, version: laterVersion(version, notified) }
  }
}

/** Returns a GET request of a path, without headers and body. */
function requestOf(path: string): IncomingRequest {
  return {
    method: 'GET',
    path,
    target: path,
    query: new URLSearchParams(),
    httpVersion: '1.1',
    rawHeaders: [],
    remoteAddress: null,
    header: () => null,
    headerRecord: () => ({}),
  }
}
