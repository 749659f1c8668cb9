import { isGraphiqlPage } from '../graphql/path.ts'
import type { Exchange, Handler } from '../middleware.ts'
import { cacheKey } from './cache-key.ts'
import type { DataVersions } from './data-versions.ts'
import type { Made, OnLeave, ResponseCache } from './response-cache.ts'

/** Produces a response from data. */
export type Produce = (exchange: Exchange, onLeave: OnLeave) => Promise<Made>

/**
 * Serves responses from the cache, or produces them: concurrent requests with equal keys share one production. The data
 * version is read before production begins, so that no data in the response is older.
 */
export function cached(cache: ResponseCache, data: DataVersions, produce: Produce): Handler {
  return (exchange) => {
    const { request, body, onLeave } = exchange
    exchange.stamp = data.now()
    const key = isGraphiqlPage(request) ? null : cacheKey(request, body)
    return cache.answer(key, onLeave, (whenLeft) => produce(exchange, whenLeft))
  }
}
