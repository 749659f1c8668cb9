import { type Answer, retryLater } from '../rest/problem.ts'
import { EncodedResponse } from './cache/encoded-response.ts'
import { isGraphql } from './graphql/path.ts'
import { asGraphqlError } from './graphql/refusals.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Refuses a request in the format of its path: a problem (RFC 9457), or a GraphQL error. */
export function refuse(request: IncomingRequest, problem: Answer): EncodedResponse {
  return new EncodedResponse(refusalOf(request, problem))
}

/** Converts a problem into the error format of the request's path. */
export function refusalOf(request: IncomingRequest, problem: Answer): Answer {
  return isGraphql(request) ? asGraphqlError(problem) : problem
}

/** Returns the problem of a request that exceeds the capacity of the process. */
export function overloaded(): Answer {
  return retryLater('OVERLOADED', 'Too many requests are waiting. Try again later.')
}

/** Returns the problem of a request whose response takes longer than its deadline. */
export function lateAnswer(seconds: number): Answer {
  return retryLater(
    'DEADLINE_EXCEEDED',
    `The answer took more than ${seconds} s. Request less data, or try again later.`,
  )
}
