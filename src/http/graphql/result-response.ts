import type { ExecutionResult, GraphQLError, GraphQLFormattedError } from 'graphql'
import type { TextResponse } from '../../rest/text-response.ts'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import { publicErrors } from '../../graphql/execution/errors.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import { inOrderOfQuality, isRefused, jsonMediaTypes } from '../middleware/content-negotiation.ts'

export type MediaType = (typeof jsonMediaTypes)[number]

/**
 * Returns the first accepted media type in which results are available; a wildcard selects the older type, as GraphQL
 * over HTTP requires.
 */
export function acceptedMediaType(accept: string | null): MediaType | null {
  // An empty header is treated as absent.
  for (const range of inOrderOfQuality(accept === null || accept === '' ? '*/*' : accept).split(',')) {
    const [type = ''] = range.split(';')
    const name = type.trim().toLowerCase()
    const named = jsonMediaTypes.find((type) => type === name)
    if (named !== undefined) return named
    // The first of both is plain JSON.
    if (name === '*/*' || name === 'application/*')
      return jsonMediaTypes.find((type) => !isRefused(accept ?? '', type)) ?? null
  }
  return null
}

/** Converts a result into its response, with errors in their public form. */
export function formatGraphqlResult(
  result: ExecutionResult,
  mediaType: MediaType,
  requestContext: RequestContext,
): TextResponse {
  const errors = result.errors && publicErrors(result.errors, requestContext)
  const { status, headers } = statusOf(errors ?? [], mediaType)
  return {
    status,
    headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers },
    body: resultText({ ...result, ...(errors && { errors: errors.map(withoutHttp) }) }),
  }
}

/** Extensions of an error that set the response's status and headers. */
interface HttpExtensions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether GraphQL over HTTP requires 200 for it in the older media type. */
  readonly spec?: boolean
}

/** Returns the highest status of the errors, 200 where none has one, and their headers. */
function statusOf(
  errors: readonly GraphQLError[],
  mediaType: MediaType,
): { readonly status: number; readonly headers: Readonly<Record<string, string>> } {
  let status = 0
  let headers = {}
  for (const { extensions } of errors) {
    const http = extensions.http as HttpExtensions | undefined
    // Yoga names methods in the errors of malformed parameters, too: they belong to a 405, which a POST is not.
    const { Allow: _, ...others } = http?.headers ?? {}
    headers = { ...headers, ...others }
    if (mediaType === 'application/json' && http?.spec === true) continue
    status = Math.max(status, http?.status ?? 0)
  }
  return { status: status === 0 ? 200 : status, headers }
}

/**
 * Returns an error as it is sent, without the extensions that set the response's status. A new GraphQLError would
 * compute its line and column in the document again.
 */
function withoutHttp(error: GraphQLError): GraphQLFormattedError {
  const { extensions = {}, ...formatted } = error.toJSON()
  const kept = Object.entries(extensions).filter(([name]) => name !== 'http')
  return { ...formatted, ...(kept.length > 0 && { extensions: Object.fromEntries(kept) }) }
}
