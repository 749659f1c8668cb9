import { type ExecutionResult, GraphQLError } from 'graphql'
import type { GraphQLParams } from 'graphql-yoga'
import type { Answer } from '../../rest/problem.ts'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import { publicError } from '../../graphql/execution/errors.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { inOrderOfQuality } from '../middleware/content-negotiation.ts'

/** The part of Yoga that runs parameters through all its hooks, without a Request or a Response. */
export interface ParamsRunner<ServerContext> {
  getResultForParams(
    input: { readonly params: GraphQLParams; readonly request: Request },
    context: ServerContext,
  ): unknown
}

/** Parameters in the body of a POST in JSON, and the media type that its client accepts. */
export interface JsonPost {
  readonly params: GraphQLParams
  readonly mediaType: MediaType
}

type MediaType = 'application/json' | 'application/graphql-response+json'

/**
 * Parses a POST in JSON, as nearly all clients send.
 * @returns null where Yoga has to parse the request, or to say what is wrong with it
 */
export function parseJsonPost(request: IncomingRequest, body: Buffer): JsonPost | null {
  const type = request.header('content-type') ?? ''
  if (request.method !== 'POST' || request.target !== request.path || !jsonType.test(type)) return null
  const mediaType = mediaTypeFor(request.header('accept'))
  const params = objectIn(body)
  return mediaType === null || params === null ? null : { params, mediaType }
}

const jsonType = /^application\/json *(?:; *charset=utf-8)?$/i

/** The first of the accepted types that results have; any type is the older one, as GraphQL over HTTP wants it. */
function mediaTypeFor(accept: string | null): MediaType | null {
  for (const range of inOrderOfQuality(accept ?? '*/*').split(',')) {
    const [type = ''] = range.split(';')
    const name = type.trim().toLowerCase()
    if (name === 'application/graphql-response+json') return name
    if (name === 'application/json' || name === '*/*' || name === 'application/*') return 'application/json'
  }
  return null
}

function objectIn(body: Buffer): GraphQLParams | null {
  try {
    const json: unknown = JSON.parse(body.toString())
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : null
  } catch {
    return null
  }
}

/**
 * Runs the parameters through Yoga's hooks and serializes the result. The response is the one that Yoga gives to the same
 * request; creating a Request and a Response takes as much time as a cached read.
 */
export async function runJsonPost<ServerContext>(
  yoga: ParamsRunner<ServerContext>,
  { params, mediaType }: JsonPost,
  serverContext: ServerContext,
  context: RequestContext,
): Promise<Answer> {
  const result = await resultOf(yoga, params, serverContext)
  const errors = result.errors?.map((error) => publicError(error, context.report))
  if (errors !== undefined) context.doNotCache?.()
  const { status, headers } = statusOf(errors ?? [], 'data' in result, mediaType)
  return {
    status,
    headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers },
    body: resultText({ ...result, ...(errors && { errors: errors.map(withoutHttp) }) }),
  }
}

/** Hooks get a request, by type; all that is known of it is in the server context. */
const placeholder = new Request('http://gateway/graphql', { method: 'POST' })

async function resultOf<ServerContext>(
  yoga: ParamsRunner<ServerContext>,
  params: GraphQLParams,
  serverContext: ServerContext,
): Promise<ExecutionResult> {
  try {
    return (await yoga.getResultForParams({ params, request: placeholder }, serverContext)) as ExecutionResult
  } catch (error) {
    return { errors: [error as GraphQLError] }
  }
}

/** Extensions of an error by which it sets the response's status and headers. */
interface HttpExtensions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether GraphQL over HTTP wants 200 for it in the older media type. */
  readonly spec?: boolean
}

/** The highest status of the errors, and their headers. */
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
    headers = { ...headers, ...http?.headers }
    if (mediaType === 'application/json' && http?.spec === true) continue
    status = Math.max(status, http?.status ?? 0)
  }
  return { status: status > 0 ? status : isUnexpected && !hasData ? 500 : 200, headers }
}

/** Extensions that set the response's status are not part of it. */
function withoutHttp(error: GraphQLError): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error
  const kept = Object.entries(extensions).filter(([name]) => name !== 'http' && name !== 'unexpected')
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: Object.fromEntries(kept),
  })
}
