import { type Problem, problemResponse, retryLater } from '../rest/problem.ts'
import type { TextResponse } from '../rest/text-response.ts'
import { EncodedResponse } from './cache/encoded-response.ts'
import { isGraphql } from './graphql/path.ts'
import { asGraphqlError } from './graphql/refusals.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Returns the encoded refusal of a request, in the format of its path. */
export function refuse(request: IncomingRequest, problem: Problem): EncodedResponse {
  return new EncodedResponse(formatProblem(request, problem))
}

/** Converts a problem into the response of the request's path: JSON (RFC 9457), or a GraphQL error. */
export function formatProblem(request: IncomingRequest, problem: Problem): TextResponse {
  return isGraphql(request) ? asGraphqlError(request, problem) : problemResponse(problem)
}

/** Returns the problem of a request that exceeds the capacity of the process. */
export function overloaded(): Problem {
  return retryLater('OVERLOADED', 'Too many requests are waiting. Try again later.')
}

/** Returns the problem of a request whose response takes longer than its deadline. */
export function deadlineExceeded(seconds: number): Problem {
  return retryLater(
    'DEADLINE_EXCEEDED',
    `The answer took more than ${seconds} s. Request less data, or try again later.`,
  )
}

/** Returns the problem of a response whose data is not of the history that this process was notified of, or lacks commits of it. */
export function outdated(): Problem {
  return retryLater(
    'DATA_NOT_THERE_YET',
    'The data that was read and the commits that were notified may be of two servers, as during a failover. Try again.',
  )
}
