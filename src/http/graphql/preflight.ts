import { EncodedResponse } from '../cache/encoded-response.ts'
import type { Middleware } from '../middleware.ts'
import { isGraphql } from './path.ts'
import { graphqlMethods } from './refusals.ts'

/** Responds to OPTIONS requests, including CORS preflights, of /graphql. */
export function preflight(): Middleware {
  return (exchange, next) => {
    const { request } = exchange
    if (request.method !== 'OPTIONS' || !isGraphql(request)) return next(exchange)
    return new EncodedResponse({ status: 204, headers: { allow: graphqlMethods }, body: '' })
  }
}
