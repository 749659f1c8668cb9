import type { RequestContext } from '../graphql/execution/context.ts'
import type { ExecutedDocument, FixedDocumentExecutor } from '../graphql/execution/fixed-document.ts'
import { csvOfList } from './csv.ts'
import {
  BadParameter,
  encodedReplacement,
  notUtf8,
  readParameters,
  type SentParameters,
  shortestText,
} from './parameters.ts'
import { Problem, problemResponse, retryLater } from './problem.ts'
import type { CacheScope, TextResponse } from './text-response.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'

/** The parts of a request that a route uses. */
export interface RestRequest extends SentParameters {
  readonly method: string
  /** As sent by the client, percent-encoded. */
  readonly path: string
  header(name: string): string | null
}

export interface RestOptions {
  /** Caches that may store a final response, one that can never change: only the client's if API keys are configured. */
  readonly cacheScope: CacheScope
  /** Returns whether a client with this `Accept` header prefers CSV, which some routes offer. */
  readonly prefersCsv: (accept: string | null) => boolean
}

/** Answers requests of the REST interface. */
export type AnswerRest = (
  exchange: { readonly request: RestRequest },
  requestContext: RequestContext,
) => Promise<TextResponse>

/** Lifetime of a final response in caches, in seconds: a day, since a later deployment may fix its content. */
const finalSeconds = 86_400

/** Value of the Allow header. */
const allowedMethods = 'GET, HEAD, OPTIONS'

/** A route that a path matches, with the parameters in the path as sent, percent-encoded. */
interface MatchedRoute {
  readonly route: Route
  readonly pathParameters: Readonly<Record<string, string>>
}

/** Routes with the text before and after the parameter of the path, of which there is at most one. */
const patterns = routes.map((route) => {
  const [, before = route.path, name = null, after = ''] = /^([^:]*):(\w+)((?:\W.*)?)$/.exec(route.path) ?? []
  return { route, before, name, after }
})

/** Returns the route that a path matches; null if it matches none. */
export function findRoute(path: string): MatchedRoute | null {
  for (const { route, before, name, after } of patterns) {
    if (name === null) {
      if (path === before) return { route, pathParameters: {} }
    } else if (path.startsWith(before) && path.endsWith(after)) {
      const given = path.slice(before.length, path.length - after.length)
      if (given !== '' && !given.includes('/')) return { route, pathParameters: { [name]: given } }
    }
  }
  return null
}

/** Creates the REST interface, which runs the document of the route that a path matches. */
export function createRest(executor: FixedDocumentExecutor, options: RestOptions): AnswerRest {
  return async ({ request }, requestContext) => {
    const matched = findRoute(request.path)
    if (matched === null) return problemResponse(pathNotFound(request.path))
    const refusal = request.method === 'GET' ? null : responseByMethod(request.method)
    if (refusal !== null) return refusal
    const { route } = matched
    const variables = variablesOf(matched, request)
    if (variables instanceof BadParameter) return problemResponse(variables.toProblem())
    const past = route.past !== undefined && route.past.parameter in variables ? route.past : null
    const { body, envelope, errors } = await executor.runFixed((past ?? route).document, variables, requestContext)
    const [error] = errors ?? []
    if (error !== undefined) return problemResponse(failure(route, error))
    if (body !== null && body !== 'null') return formatRoute(body, envelope, route, past, request, options)
    if (route.notFound === undefined) throw new Error(`${route.path} has no body, and no problem for this case.`)
    return problemResponse(new Problem(route.notFound.code, route.notFound.detail(variables)))
  }
}

/** Returns the variables of a route's document, from path and query. */
function variablesOf(
  { route, pathParameters }: MatchedRoute,
  sent: SentParameters,
): Record<string, unknown> | BadParameter {
  const variables: Record<string, unknown> = {}
  try {
    for (const name in pathParameters) variables[name] = decodeURIComponent(pathParameters[name] as string)
  } catch {
    return new BadParameter(Object.keys(pathParameters).join(), notUtf8)
  }
  try {
    return sent.query.size === 0 ? variables : Object.assign(variables, readParameters(route.queryParameters, sent))
  } catch (error) {
    if (error instanceof BadParameter) return error
    throw error
  }
}

/** Formats the data of a route in the format that its client prefers. */
async function formatRoute(
  json: string,
  envelope: string,
  route: Route,
  past: Route['past'] | null,
  request: RestRequest,
  { cacheScope, prefersCsv }: RestOptions,
): Promise<TextResponse> {
  const { isTable = false, schema } = route.documentation
  const next = route.next?.(JSON.parse(envelope) as never) ?? null
  const isFinal = past?.isFinal(JSON.parse(envelope) as never) === true
  const isCsv = isTable && prefersCsv(request.header('accept'))
  const ofType = isCsv ? csvHeaders : isTable ? tableHeaders : jsonHeaders
  const headers = next === null ? ofType : { ...ofType, ...linked(request, route, next) }
  const body = isCsv ? await csvOfList(json, Object.keys(schema.properties ?? {})) : json
  const text = { status: 200, headers, body }
  return isFinal ? { ...text, cacheControl: `${cacheScope}, max-age=${finalSeconds}` } : text
}

/** Answers a read-only path: OPTIONS, GET and HEAD. */
export function answerReadOnly(method: string, read: () => Promise<TextResponse>): Promise<TextResponse> {
  const refusal = responseByMethod(method)
  return refusal === null ? read() : Promise.resolve(refusal)
}

/** Answers OPTIONS and unsupported methods on a read-only path; null for GET and HEAD. */
export function responseByMethod(method: string): TextResponse | null {
  if (method === 'GET' || method === 'HEAD') return null
  return method === 'OPTIONS'
    ? { status: 204, headers: { allow: allowedMethods }, body: '' }
    : problemResponse(notAllowed(method))
}

/** Returns the problem for an unsupported method. */
export function notAllowed(method: string, allow = allowedMethods): Problem {
  return new Problem('METHOD_NOT_ALLOWED', `${method} is not allowed, only ${allow}`, { headers: { allow } })
}

/** Returns the problem for a path that does not exist. */
export function pathNotFound(path: string): Problem {
  return new Problem('PATH_NOT_FOUND', `${path} is none of the paths of this interface`)
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' }
/** Headers of a list that is negotiated as JSON or CSV. */
const tableHeaders = { ...jsonHeaders, vary: 'accept' }
const csvHeaders = { 'content-type': 'text/csv; charset=utf-8', vary: 'accept' }

/** Returns the header of a page that links to the next one. */
function linked({ path, query }: RestRequest, route: Route, next: string): Record<string, string> {
  const known = Array.from(knownParameters(route, query), ([name, value]) => [name, shortestText(value)])
  const following = new URLSearchParams(known)
  following.set('cursor', next)
  return { link: `<${path}?${following.toString()}>; rel="next"` }
}

/** Returns the query parameters that a route uses, in a fixed order; others are ignored. */
function knownParameters({ queryParameters }: Route, query: URLSearchParams): URLSearchParams {
  const known = Object.keys(queryParameters).flatMap((name) => query.getAll(name).map((value) => [name, value]))
  return new URLSearchParams(known)
}

/**
 * Returns a cache key, equal for requests with equal responses. It is null for a path with a query and without a route, and for
 * parameters with bytes that are not UTF-8, since those of another message could have the same key: no such response is cached.
 */
export function responseKey({ path, query }: Pick<RestRequest, 'path' | 'query'>): string | null {
  if (query.size === 0) return path
  const found = findRoute(path)
  if (found === null) return null
  const known = knownParameters(found.route, query)
  if (known.size === 0) return path
  const text = known.toString()
  return encodedReplacement.test(text) ? null : `${path}?${text}`
}

type ExecutionError = NonNullable<ExecutedDocument['errors']>[number]

/** Converts a GraphQL error to a problem: the schema's argument is reported as the path's parameter. */
function failure({ queryParameters }: Route, { message, extensions }: ExecutionError): Problem {
  const { argument, code } = extensions
  if (code === 'DATABASE_UNAVAILABLE' || code === 'DEADLINE_EXCEEDED' || code === 'OVERLOADED')
    return retryLater(code, message)
  if (code === 'HISTORY_NOT_KEPT') {
    const members = { historySince: extensions['historySince'] }
    return new Problem(code, message, { parameter: 'at', members })
  }
  if (code !== 'BAD_USER_INPUT') return new Problem('INTERNAL', message)
  if (typeof argument !== 'string') return new Problem('BAD_PARAMETER', message)
  const [name = argument] = Object.entries(queryParameters).find(([, { variable }]) => variable === argument) ?? []
  return new Problem('BAD_PARAMETER', withParameterName(name, argument, message), { parameter: name })
}

/** Returns the message of an error with the name of the path's parameter in place of the schema's argument. */
function withParameterName(parameter: string, argument: string, message: string): string {
  if (message.startsWith(`${argument} `)) return parameter + message.slice(argument.length)
  // graphql-js prefixes coercion errors with the variable's name and value.
  return message.startsWith('Variable "$') ? `${parameter}: ${message.slice(message.indexOf('; ') + 2)}` : message
}
