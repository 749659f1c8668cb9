import type { ExecutionResult, GraphQLError, GraphQLFormattedError } from 'graphql'
import type { GraphQLParams } from 'graphql-yoga'
import type { TextResponse } from '../../rest/text-response.ts'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import { publicErrors } from '../../graphql/execution/errors.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { inOrderOfQuality, isRefused } from '../middleware/content-negotiation.ts'
import type { YogaContext } from './plugins.ts'

/** The method of Yoga that runs parameters through all its hooks, without a Request or a Response. */
export interface ParamsRunner {
  getResultForParams(
    input: { readonly params: GraphQLParams; readonly request: Request },
    yogaContext: YogaContext,
  ): unknown
}

/** Parameters of a POST with JSON, and the media type of its response. */
export interface JsonPost {
  readonly params: GraphQLParams
  readonly mediaType: MediaType
}

/** Media types of responses; the first is sent to a client that accepts both by a wildcard. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const
export type MediaType = (typeof mediaTypes)[number]

/**
 * Parses a POST with a JSON body, the form that nearly all clients use.
 * @returns null if Yoga must parse the request, or explain why it is invalid
 */
export function parseJsonPost(request: IncomingRequest, body: Buffer): GraphQLParams | null {
  const type = request.header('content-type') ?? ''
  if (request.method !== 'POST' || request.target !== request.path || !plainJson.test(type)) return null
  return objectIn(body)
}

const plainJson = /^application\/json *(?:; *charset=utf-8)?$/i

/** Returns whether a request is a POST of JSON, of any kind that Yoga parses as such. */
export function isJsonPost(request: IncomingRequest): boolean {
  return request.method === 'POST' && anyJson.test(request.header('content-type') ?? '')
}

const anyJson = /^application\/(?:graphql\+)?json *(?:;|$)/i

/**
 * Returns the first accepted media type in which results are available; a wildcard selects the older type, as GraphQL
 * over HTTP requires.
 */
export function acceptedMediaType(accept: string | null): MediaType | null {
  // An empty header is treated as absent.
  for (const range of inOrderOfQuality(accept === null || accept === '' ? '*/*' : accept).split(',')) {
    const [type = ''] = range.split(';')
    const name = type.trim().toLowerCase()
    if (name === 'application/graphql-response+json') return name
    if (name === 'application/json') return name
    if (name === '*/*' || name === 'application/*')
      return mediaTypes.find((type) => !isRefused(accept ?? '', type)) ?? null
  }
  return null
}

/** Parses a JSON object; null if the body is not one. */
export function objectIn(body: Buffer): GraphQLParams | null {
  try {
    const json: unknown = JSON.parse(body.toString())
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : null
  } catch {
    return null
  }
}

/**
 * Runs the parameters through Yoga's hooks and serializes the result. The response equals Yoga's for the same request,
 * without creating a Request and a Response, which takes as much time as a cached read.
 */
export async function runJsonPost(
  yoga: ParamsRunner,
  { params, mediaType }: JsonPost,
  request: Request,
  yogaContext: YogaContext,
): Promise<TextResponse> {
  return formatGraphqlResult(await resultOf(yoga, params, request, yogaContext), mediaType, yogaContext.requestContext)
}

/** Converts a result into its response, with errors in their public form. */
export function formatGraphqlResult(
  result: ExecutionResult,
  mediaType: MediaType,
  requestContext: RequestContext,
): TextResponse {
  const errors = result.errors && publicErrors(result.errors, requestContext)
  const { status, headers } = statusOf(errors ?? [], 'data' in result, mediaType)
  return {
    status,
    headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers },
    body: resultText({ ...result, ...(errors && { errors: errors.map(withoutHttp) }) }),
  }
}

async function resultOf(
  yoga: ParamsRunner,
  params: GraphQLParams,
  request: Request,
  yogaContext: YogaContext,
): Promise<ExecutionResult> {
  try {
    return (await yoga.getResultForParams({ params, request }, yogaContext)) as ExecutionResult
  } catch (error) {
    return { errors: [error as GraphQLError] }
  }
}

/** Extensions of an error that set the response's status and headers. */
interface HttpExtensions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether GraphQL over HTTP requires 200 for it in the older media type. */
  readonly spec?: boolean
}

/** Returns the highest status of the errors, and their headers. */
function statusOf(
  errors: readonly GraphQLError[],
  hasData: boolean,
  mediaType: MediaType,
): { readonly status: number; readonly headers: Readonly<Record<string, string>> } {
  let status = 0
  let headers = {}
  let isUnexpected = false
  for (const { extensions } of errors) {
    const http = extensions.http as HttpExtensions | undefined
    if (http === undefined) isUnexpected ||= extensions['unexpected'] === true
    // Yoga names methods in the errors of malformed parameters, too: they belong to a 405, which a POST is not.
    const { Allow: _, ...others } = http?.headers ?? {}
    headers = { ...headers, ...others }
    if (mediaType === 'application/json' && http?.spec === true) continue
    status = Math.max(status, http?.status ?? 0)
  }
  return { status: status > 0 ? status : isUnexpected && !hasData ? 500 : 200, headers }
}

/**
 * Returns an error as it is sent, without the extensions that set the response's status. A new GraphQLError would
 * compute its line and column in the document again.
 */
function withoutHttp(error: GraphQLError): GraphQLFormattedError {
  const { extensions = {}, ...formatted } = error.toJSON()
  const kept = Object.entries(extensions).filter(([name]) => name !== 'http' && name !== 'unexpected')
  return { ...formatted, ...(kept.length > 0 && { extensions: Object.fromEntries(kept) }) }
}
