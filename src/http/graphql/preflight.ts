import { EncodedResponse } from '../cache/encoded-response.ts'
import type { PathStage } from '../middleware.ts'
import { graphqlPath } from './path.ts'
import { graphqlMethods } from './refusals.ts'

/** Responds to OPTIONS requests, including CORS preflights, of /graphql. */
export function preflight(): PathStage {
  return {
    paths: [graphqlPath],
    stage: (exchange, next) => {
      if (exchange.request.method !== 'OPTIONS') return next(exchange)
      return new EncodedResponse({ status: 204, headers: { allow: graphqlMethods }, body: '' })
    },
  }
}
