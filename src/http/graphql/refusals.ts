import { noMutation } from '../../graphql/execution/errors.ts'
import { graphqlMediaType } from '../middleware/content-negotiation.ts'
import { notAllowed } from '../../rest/handler.ts'
import type { TextResponse } from '../../rest/text-response.ts'

/** Methods that `/graphql` allows. */
export const graphqlMethods = 'GET, POST, OPTIONS'

/** Converts a problem (RFC 9457) into a GraphQL error response. */
export function asGraphqlError({ status, headers, body }: TextResponse): TextResponse {
  const { title, detail, type } = JSON.parse(body) as { title: string; detail: string; type: string }
  // The same error as of an unexpected failure in the executor, whose message is the detail.
  if (status === 500) return graphqlRefusal(status, 'INTERNAL_SERVER_ERROR', detail, headers)
  const code = type
    .slice(type.lastIndexOf(':') + 1)
    .toUpperCase()
    .replaceAll('-', '_')
  return graphqlRefusal(status, code, `${title}. ${detail}`, headers)
}

/** Returns the refusal of a method that `/graphql` does not allow. */
export function methodRefused(method: string): TextResponse {
  return asGraphqlError(notAllowed(method, graphqlMethods))
}

/** Returns the refusal of a mutation by GET: GraphQL over HTTP requires 405, although a POST is refused too. */
export function mutationByGet(): TextResponse {
  return graphqlRefusal(405, 'METHOD_NOT_ALLOWED', noMutation().message, { allow: graphqlMethods })
}

/** Returns the refusal of a request that accepts no media type of results. */
export function notAcceptable(): TextResponse {
  return graphqlRefusal(
    406,
    'NOT_ACCEPTABLE',
    `Answers are ${graphqlMediaType} or application/json, neither of which Accept takes.`,
  )
}

/** Returns the refusal of a body with a content coding (RFC 9110, section 15.5.16). */
export function contentCodingRefused(): TextResponse {
  const message = 'Send the body without Content-Encoding: compressed bodies are not decoded.'
  return graphqlRefusal(415, 'UNSUPPORTED_MEDIA_TYPE', message, { 'accept-encoding': 'identity' })
}

/** Adds a GraphQL error to responses that Yoga sends without a body. */
export function explained(response: TextResponse): TextResponse {
  const explanation = response.body === '' ? explanations[response.status] : undefined
  return explanation === undefined ? response : graphqlRefusal(response.status, ...explanation)
}

const explanations: Readonly<Partial<Record<number, readonly [code: string, message: string]>>> = {
  415: ['UNSUPPORTED_MEDIA_TYPE', 'Send the query as application/json, and say so in Content-Type.'],
}

function graphqlRefusal(
  status: number,
  code: string,
  message: string,
  headers: TextResponse['headers'] = {},
): TextResponse {
  return {
    status,
    headers: { ...headers, 'content-type': `${graphqlMediaType}; charset=utf-8` },
    body: JSON.stringify({ errors: [{ message, extensions: { code } }] }),
  }
}
