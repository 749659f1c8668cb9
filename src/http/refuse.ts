import type { Answer } from '../rest/problem.ts'
import { CachedResponse } from './cache/cached-response.ts'
import { isGraphql } from './graphql/path.ts'
import { asGraphqlError } from './graphql/refusals.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Refuses a request in the format of its path: a problem (RFC 9457), or a GraphQL error. */
export function refuse(request: IncomingRequest, problem: Answer): CachedResponse {
  return new CachedResponse(refusalOf(request, problem))
}

/** Converts a problem into the error format of the request's path. */
export function refusalOf(request: IncomingRequest, problem: Answer): Answer {
  return isGraphql(request) ? asGraphqlError(problem) : problem
}
