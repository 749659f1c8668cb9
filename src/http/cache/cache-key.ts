import { sameAnswerKey } from '../../rest/handler.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { graphqlPath } from '../graphql/path.ts'

/** Longer requests are seldom sent twice. */
const mostBytes = 20_000

/** The same for requests that have the same answer; null where the answer isn't kept. */
export function cacheKey(request: IncomingRequest, body: Buffer): string | null {
  const { method, path, target } = request
  if (path !== graphqlPath) return method === 'GET' || method === 'HEAD' ? sameAnswerKey(request) : null
  if (body.length > mostBytes) return null
  const types = [request.header('accept') ?? '', request.header('content-type') ?? '']
  // HEAD is refused here, so that it has no answer in common with GET.
  if (method === 'GET') return ['get', ...types, target].join('\n')
  return method === 'POST' ? ['post', ...types, target, body.toString('latin1')].join('\n') : null
}
