import { sameAnswerKey } from '../../rest/handler.ts'
import { graphqlPath, isGraphiqlPage } from '../graphql/path.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Exchange } from '../middleware.ts'
import type { EncodedResponse } from './encoded-response.ts'
import type { DataVersions } from './data-versions.ts'
import type { Made, OnLeave, ResponseCache } from './response-cache.ts'

/** Produces a response from data. */
export type Produce = (exchange: Exchange, onLeave: OnLeave) => Promise<Made>

/** Serves whole responses. */
export type ServeCached = (exchange: Exchange) => EncodedResponse | Promise<EncodedResponse>

/**
 * Serves responses from the cache, or produces them: concurrent requests with equal keys share one production. The data
 * version is read before production begins, so that no data in the response is older.
 */
export function cached(cache: ResponseCache, data: DataVersions, produce: Produce): ServeCached {
  return (exchange) => {
    const { request, body, onLeave } = exchange
    exchange.stamp = data.now()
    const key = isGraphiqlPage(request) ? null : cacheKey(request, body)
    return cache.answer(key, exchange.sender, onLeave, (whenLeft) => produce(exchange, whenLeft))
  }
}

/** Maximum size of a cached request's body, in bytes: longer requests are seldom repeated. */
const mostBytes = 20_000

/** Returns a key that is equal for requests with the same response; null if the response is not cached. */
function cacheKey(request: IncomingRequest, body: Buffer): string | null {
  const { method, path, target } = request
  if (path !== graphqlPath) return method === 'GET' || method === 'HEAD' ? sameAnswerKey(request) : null
  if (body.length > mostBytes) return null
  const types = [request.header('accept') ?? '', request.header('content-type') ?? '']
  // HEAD is refused here, so that its response differs from that of GET.
  if (method === 'GET') return ['get', ...types, target].join('\n')
  return method === 'POST' ? ['post', ...types, target, body.toString('latin1')].join('\n') : null
}
