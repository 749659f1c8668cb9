import { noMutation } from '../../graphql/execution/errors.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { graphqlMediaType, preferredType } from '../middleware/content-negotiation.ts'
import { notAllowed } from '../../rest/handler.ts'
import type { Problem } from '../../rest/problem.ts'
import type { TextResponse } from '../../rest/text-response.ts'

/** Methods that `/graphql` allows. */
export const graphqlMethods = 'GET, POST, OPTIONS'

/** Converts the problem of a request into a GraphQL error response. */
export function asGraphqlError(
  request: ClientRequest,
  { code, status, title, detail, headers }: Problem,
): TextResponse {
  // The same error as of an unexpected failure in the executor, whose message is the detail.
  if (code === 'INTERNAL') return graphqlRefusal(request, status, 'INTERNAL_SERVER_ERROR', detail, headers)
  return graphqlRefusal(request, status, code, `${title}. ${detail}`, headers)
}

/** Returns the refusal of a method that `/graphql` does not allow. */
export function methodRefused(request: ClientRequest): TextResponse {
  return asGraphqlError(request, notAllowed(request.method, graphqlMethods))
}

/** Returns the refusal of a mutation by GET: GraphQL over HTTP requires 405, although a POST is refused too. */
export function mutationByGet(request: ClientRequest): TextResponse {
  return graphqlRefusal(request, 405, 'METHOD_NOT_ALLOWED', noMutation().message, { allow: graphqlMethods })
}

/** Returns the refusal of a request that accepts no media type of results. */
export function notAcceptable(request: ClientRequest): TextResponse {
  return graphqlRefusal(
    request,
    406,
    'NOT_ACCEPTABLE',
    `Answers are ${graphqlMediaType} or application/json, neither of which Accept takes.`,
  )
}

/** Returns the refusal of parameters that are malformed in the query string, or in the body of a form. */
export function malformedParameters(request: ClientRequest, problem: string): TextResponse {
  return graphqlRefusal(request, 400, 'BAD_REQUEST', problem)
}

/** Returns the refusal of a body with a content coding (RFC 9110, section 15.5.16). */
export function contentCodingRefused(request: ClientRequest): TextResponse {
  const message = 'Send the body without Content-Encoding: compressed bodies are not decoded.'
  return graphqlRefusal(request, 415, 'UNSUPPORTED_MEDIA_TYPE', message, { 'accept-encoding': 'identity' })
}

/** Adds a GraphQL error to responses that Yoga sends without a body. */
export function explained(request: ClientRequest, response: TextResponse): TextResponse {
  const explanation = response.body === '' ? explanations[response.status] : undefined
  return explanation === undefined ? response : graphqlRefusal(request, response.status, ...explanation)
}

const explanations: Readonly<Partial<Record<number, readonly [code: string, message: string]>>> = {
  415: ['UNSUPPORTED_MEDIA_TYPE', 'Send the query as application/json, and say so in Content-Type.'],
}

/** The parts of a request that its refusal depends on. */
type ClientRequest = Pick<IncomingRequest, 'method' | 'header'>

/**
 * Returns an error as JSON in the media type of results that the client names with the greatest weight; in the newer one, by which
 * clients rely on the status, to clients that name neither.
 */
function graphqlRefusal(
  request: ClientRequest,
  status: number,
  code: string,
  message: string,
  headers: TextResponse['headers'] = {},
): TextResponse {
  const mediaType = preferredType(request.header('accept'), [graphqlMediaType, 'application/json']) ?? graphqlMediaType
  return {
    status,
    headers: { ...headers, 'content-type': `${mediaType}; charset=utf-8` },
    body: JSON.stringify({ errors: [{ message, extensions: { code } }] }),
  }
}
