import { EncodedResponse } from '../cache/encoded-response.ts'
import type { Middleware, PathStages } from '../middleware.ts'
import { graphqlPath } from './path.ts'
import { graphqlMethods } from './refusals.ts'

/** The target of a request for the options of the server as a whole (RFC 9110, section 9.3.7). */
const wholeServer = '*'
/** Methods that one of the paths or another allows. */
const methodsOfServer = 'GET, HEAD, POST, OPTIONS'

/** Returns the stage that responds to OPTIONS requests, including CORS preflights, of /graphql and of the server as a whole. */
export function preflight(): PathStages {
  const respond =
    (allow: string): Middleware =>
    (next) =>
    (exchange) => {
      if (exchange.request.method !== 'OPTIONS') return next(exchange)
      return new EncodedResponse({ status: 204, headers: { allow }, body: '' })
    }
  return new Map([
    [graphqlPath, respond(graphqlMethods)],
    [wholeServer, respond(methodsOfServer)],
  ])
}
