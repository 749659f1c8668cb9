import { createHash, timingSafeEqual } from 'node:crypto'
import { Problem } from '../../rest/problem.ts'
import { isGraphiqlPage } from '../graphql/path.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Handler, Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'
import { headerList } from '../cache/encoded-response.ts'

/**
 * Authenticates requests by API key. Keys are stored and compared as digests. A preflight request cannot carry one.
 * @param openPaths paths that contain no data and need no key, such as /docs
 * @param limit limits refused requests by address, to slow down the guessing of keys
 * @returns null without accepted keys: all requests pass
 */
export function apiKey(
  keys: readonly string[],
  openPaths: ReadonlySet<string>,
  limit: Middleware | null = null,
): Middleware | null {
  const known = keys.map(digest)
  if (known.length === 0) return null
  const refused = limit?.(unauthenticated) ?? unauthenticated
  return (next) => (exchange) => {
    const { request } = exchange
    if (request.method === 'OPTIONS' || openPaths.has(request.path) || isGraphiqlPage(request)) return next(exchange)
    const given = keyIn(request)
    const candidate = given === undefined ? null : digest(given)
    // All keys are compared, each in constant time, so that timing does not reveal how close a guess is.
    const matching = candidate === null ? [] : known.filter((key) => timingSafeEqual(key, candidate))
    if (candidate === null || matching.length === 0) return refused(exchange)
    exchange.sender = candidate.toString('hex')
    return next(exchange)
  }
}

const challenge = headerList({ 'www-authenticate': 'Bearer' })

function keyIn(request: IncomingRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
}

const unauthenticated: Handler = (exchange) => {
  const { request } = exchange
  exchange.senderHeaders = exchange.senderHeaders.concat(challenge)
  const detail =
    keyIn(request) === undefined
      ? 'Send the header Authorization: Bearer with an API key.'
      : 'The API key is not one of those that are accepted.'
  return refuse(request, new Problem('UNAUTHENTICATED', detail))
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
