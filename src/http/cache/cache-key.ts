import { responseKey } from '../../rest/handler.ts'
import { graphqlPath } from '../graphql/path.ts'
import type { Exchange } from '../middleware.ts'
import { prefersCsv } from '../middleware/content-negotiation.ts'

/** Maximum size of a cached request's body, in bytes: longer requests are seldom repeated. */
const maxBytes = 20_000

/** Extension of requests that register their document: a cached response would skip that, so they are not cached. */
const persistedName = 'persistedQuery'

/** Returns a key that is equal for requests with the same response; null if the response is not cached. */
export function cacheKey({ request, body }: Exchange): string | null {
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
