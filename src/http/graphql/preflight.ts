import { EncodedResponse } from '../cache/encoded-response.ts'
import type { Middleware, PathStages } from '../middleware.ts'
import { graphqlPath } from './path.ts'
import { graphqlMethods } from './refusals.ts'

/** Returns the stage that responds to OPTIONS requests, including CORS preflights, of /graphql. */
export function preflight(): PathStages {
  const stage: Middleware = (next) => (exchange) => {
    if (exchange.request.method !== 'OPTIONS') return next(exchange)
    return new EncodedResponse({ status: 204, headers: { allow: graphqlMethods }, body: '' })
  }
  return new Map([[graphqlPath, stage]])
}
