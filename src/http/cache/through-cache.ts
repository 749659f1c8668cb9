import { responseKey } from '../../rest/handler.ts'
import { graphqlPath } from '../graphql/path.ts'
import { prefersCsv } from '../middleware/content-negotiation.ts'
import type { Exchange, Handler } from '../middleware.ts'
import type { Produce, Respond } from '../produce.ts'
import { outdated, refuse } from '../refuse.ts'
import type { DataVersions } from './data-versions.ts'
import type { EncodedResponse, NotifiedState } from './encoded-response.ts'
import type { StartProduction } from './productions.ts'
import type { ResponseCache } from './response-cache.ts'

/** The parts that serve responses from the cache, or produce them. */
interface CachedOptions {
  readonly cache: ResponseCache
  readonly versions: DataVersions
  readonly produce: Produce
  readonly respond: Respond
}

/**
 * Serves responses from the cache, or produces them: concurrent requests with equal keys share one production, unless
 * the cache is disabled. The data version is read before production begins, so that no data in the response is older.
 */
export function answerThroughCache({ cache, versions, produce, respond }: CachedOptions): Handler {
  /**
   * Returns a produced response once its data is known to have the commits that its headers will claim: those of the state at
   * the start of the request, or of a later one where notifications were interrupted before the production.
   */
  async function whenConfirmed(
    produced: Promise<EncodedResponse>,
    exchange: Exchange,
    atStart: NotifiedState,
  ): Promise<EncodedResponse> {
    const response = await produced
    const { version, notified } = response.origin
    if (notified === null) return response
    const claimed = notified.interruptions > atStart.interruptions ? notified : atStart
    exchange.stateAtStart = claimed
    // Without a version the headers claim nothing.
    if (claimed.version === null) return response
    const isConfirmed = await versions.confirmHistory(version, notified)
    return isConfirmed ? response : refuse(exchange.request, outdated())
  }

  return (exchange) => {
    const atStart = versions.currentState()
    exchange.stateAtStart = atStart
    const { sender, onDisconnect } = exchange
    const start: StartProduction = (onAllLeft) => produce(exchange, onAllLeft, respond)
    const answer = cache.isEnabled ? cache.answer(cacheKey(exchange), sender, onDisconnect, start) : start(onDisconnect)
    return answer instanceof Promise ? whenConfirmed(answer, exchange, atStart) : answer
  }
}

/** Maximum size of a cached request's body, in bytes: longer requests are seldom repeated. */
const maxBytes = 20_000

/** Extension of requests that register their document: a cached response would skip that, so they are not cached. */
const persistedName = 'persistedQuery'

/** Returns a key that is equal for requests with the same response; null if the response is not cached. */
function cacheKey({ request, body }: Exchange): string | null {
  const { method, path, target } = request
  if (path !== graphqlPath) {
    const key = method === 'GET' || method === 'HEAD' ? responseKey(request) : null
    return key !== null && prefersCsv(request.header('accept')) ? `csv ${key}` : key
  }
  if (body.length > maxBytes) return null
  const types = [request.header('accept') ?? '', request.header('content-type') ?? '']
  // GraphQL refuses HEAD, so that its response differs from that of GET.
  if (method === 'GET' && request.query.has('query') && target.includes(persistedName)) return null
  if (method === 'GET') return ['get', ...types, target].join('\n')
  if (method !== 'POST' || (body.includes(persistedName) && body.includes('"query"'))) return null
  return ['post', ...types, target, body.toString('latin1')].join('\n')
}
