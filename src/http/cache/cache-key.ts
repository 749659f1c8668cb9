import { sameAnswerKey } from '../../rest/handler.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { graphqlPath } from '../graphql/path.ts'

/** Maximum size of a cached request's body, in bytes: longer requests are seldom repeated. */
const mostBytes = 20_000

/** Returns a key that is equal for requests with the same response; null if the response is not cached. */
export function cacheKey(request: IncomingRequest, body: Buffer): string | null {
  const { method, path, target } = request
  if (path !== graphqlPath) return method === 'GET' || method === 'HEAD' ? sameAnswerKey(request) : null
  if (body.length > mostBytes) return null
  const types = [request.header('accept') ?? '', request.header('content-type') ?? '']
  // HEAD is refused here, so that its response differs from that of GET.
  if (method === 'GET') return ['get', ...types, target].join('\n')
  return method === 'POST' ? ['post', ...types, target, body.toString('latin1')].join('\n') : null
}
