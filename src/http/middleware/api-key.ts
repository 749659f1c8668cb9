import { createHash, timingSafeEqual } from 'node:crypto'
import { problem } from '../../rest/problem.ts'
import { isGraphiqlPage } from '../graphql/path.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Answer } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { isRoot } from '../ops/root.ts'
import { isStaticContent } from '../ops/static-content.ts'
import { refuse } from '../refuse.ts'
import { headerList } from '../server/header-list.ts'

/**
 * Authenticates requests by API key; without accepted keys, all requests pass. Pages and the API's contract contain no
 * data and need no key, and a preflight request cannot carry one. Keys are stored and compared as digests.
 */
export function apiKey(keys: readonly string[]): Middleware {
  const known = keys.map(digest)
  if (known.length === 0) return (exchange, next) => next(exchange)
  return (exchange, next) => {
    const { request } = exchange
    if (request.method === 'OPTIONS' || isGraphiqlPage(request) || isStaticContent(request) || isRoot(request)) {
      return next(exchange)
    }
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
