import { createHash, timingSafeEqual } from 'node:crypto'
import { problem } from '../../rest/problem.ts'
import { isGraphiqlPage } from '../graphql/path.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Answer } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'
import { headerList } from '../cache/encoded-response.ts'

/**
 * Authenticates requests by API key. Keys are stored and compared as digests. A preflight request cannot carry one.
 * @param openPaths paths that contain no data and need no key, as GraphiQL's page does
 * @returns null without accepted keys: all requests pass
 */
export function apiKey(keys: readonly string[], openPaths: ReadonlySet<string>): Middleware | null {
  const known = keys.map(digest)
  if (known.length === 0) return null
  return (next) => (exchange) => {
    const { request } = exchange
    if (request.method === 'OPTIONS' || openPaths.has(request.path) || isGraphiqlPage(request)) return next(exchange)
    const given = keyIn(request)
    const candidate = given === undefined ? null : digest(given)
    // All keys are compared, each in constant time, so that timing does not reveal how close a guess is.
    const matching = candidate === null ? [] : known.filter((key) => timingSafeEqual(key, candidate))
    if (candidate === null || matching.length === 0) {
      exchange.headers = exchange.headers.concat(challenge)
      return refuse(request, unauthenticated(given))
    }
    exchange.sender = candidate.toString('hex')
    return next(exchange)
  }
}

const challenge = headerList({ 'www-authenticate': 'Bearer' })

function keyIn(request: IncomingRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
}

function unauthenticated(given: string | undefined): Answer {
  const detail =
    given === undefined
      ? 'Send the header Authorization: Bearer with an API key.'
      : 'The API key is not one of those that are accepted.'
  return problem('UNAUTHENTICATED', detail)
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
