import { BadParameter, readParameters } from './parameters.ts'
import { type Answer, problem, retryLater } from './problem.ts'
import type { Route, RequestedOperation } from './route.ts'
import { routes } from './routes.ts'

/** The parts of a request that a route uses. */
export interface RestRequest {
  readonly method: string
  /** As it was sent, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
}

/** A GraphQL error, after masking. */
export interface ExecutionError {
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Result of a document. */
export interface Execution {
  /** JSON text of the requested part; null where it is missing. */
  readonly part: string | null
  /** JSON text of the rest of the data. */
  readonly rest: string
  readonly errors?: readonly ExecutionError[]
}

/** Runs a document through the gateway's schema. */
export type Execute = (requested: RequestedOperation, variables: Record<string, unknown>) => Promise<Execution>

/** Answers a request of the REST interface; null where the path is none of its paths. */
export type Rest = (request: RestRequest, execute: Execute, keptBy: KeptBy) => Promise<Answer> | null

/** Caches that may keep an answer that can never change: only the client's own where API keys are configured. */
export type KeptBy = 'public' | 'private'

/** How long such an answer is kept, in seconds: a day, since a mended deployment may serve it in another form. */
const keptSeconds = 86_400

/** Value of the Allow header. */
export const allowedMethods = 'GET, HEAD, OPTIONS'

const matchers = routes.map((route) => ({ route, match: matcher(route) }))

/** Answers a request by its route; null where no route matches. */
export const rest: Rest = (request, execute, keptBy) => {
  for (const { route, match } of matchers) {
    const segments = match(request.path)
    if (segments !== null) return onlyRead(request.method, () => run(execute, route, segments, request, keptBy))
  }
  return null
}

type Segments = Readonly<Record<string, string>>

/**
 * Creates a function that matches paths of a route with at most one parameter. It returns the decoded parameters by
 * name, or null.
 */
export function matcher({ path }: Route): (path: string) => Segments | null {
  const [, before = path, name, after = ''] = /^(.*):(\w+)(.*)$/.exec(path) ?? []
  if (name === undefined) return (requested) => (requested === path ? {} : null)
  return (requested) => {
    if (!requested.startsWith(before) || !requested.endsWith(after)) return null
    const given = requested.slice(before.length, requested.length - after.length)
    return given === '' || given.includes('/') ? null : { [name]: given }
  }
}

/** Answers a read-only path: OPTIONS, GET and HEAD. */
export function onlyRead(method: string, read: () => Promise<Answer>): Promise<Answer> {
  const unread = answerUnread(method)
  return unread === null ? read() : Promise.resolve(unread)
}

/** Answers a request for a read-only path that is not to be read: OPTIONS and unsupported methods; else null. */
export function answerUnread(method: string): Answer | null {
  if (method === 'GET' || method === 'HEAD') return null
  return method === 'OPTIONS' ? { status: 204, headers: { allow: allowedMethods }, body: '' } : notAllowed(method)
}

/** Returns the problem for an unsupported method. */
export function notAllowed(method: string, allow = allowedMethods): Answer {
  const refusal = problem('METHOD_NOT_ALLOWED', `${method} is not allowed, only ${allow}`)
  return { ...refusal, headers: { ...refusal.headers, allow } }
}

async function run(
  execute: Execute,
  route: Route,
  segments: Segments,
  request: RestRequest,
  keptBy: KeptBy,
): Promise<Answer> {
  try {
    const variables = { ...decoded(segments), ...readParameters(route.parameters, request.query) }
    const past = route.past !== undefined && route.past.parameter in variables ? route.past : null
    const requested = past === null ? route.requested : { ...route.requested, document: past.document }
    const { part, rest, errors } = await execute(requested, variables)
    const [error] = errors ?? []
    if (error !== undefined) return failure(route, error)
    if (part === null || part === 'null') {
      const moment = past === null ? '' : `, or it had not begun at ${String(variables[past.parameter])}`
      return problem('VAULT_NOT_FOUND', `no vault is known at ${String(variables['address'])}${moment}`)
    }
    const isFinal = past?.isFinal(JSON.parse(rest) as never) === true
    const headers = headersOf(request, route, route.next?.(JSON.parse(rest) as never))
    const cacheControl = isFinal ? { cacheControl: `${keptBy}, max-age=${keptSeconds}` } : {}
    return { status: 200, headers, body: part, ...cacheControl }
  } catch (error) {
    if (error instanceof BadParameter) return problem('BAD_PARAMETER', error.message, error.parameter)
    throw error
  }
}

function decoded(segments: Segments): Record<string, string> {
  const decode = ([name, value]: [string, string]): [string, string] => {
    try {
      return [name, decodeURIComponent(value)]
    } catch {
      throw new BadParameter(name, 'is not percent-encoded UTF-8')
    }
  }
  return Object.fromEntries(Object.entries(segments).map(decode))
}

function headersOf(
  { path, query }: RestRequest,
  route: Route,
  next: string | null | undefined,
): Record<string, string> {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  if (next == null) return headers
  const following = knownParameters(route, query)
  following.set('cursor', next)
  return { ...headers, link: `<${path}?${following.toString()}>; rel="next"` }
}

/** Returns the query parameters that a route uses, in a fixed order; others are ignored. */
function knownParameters({ parameters }: Route, query: URLSearchParams): URLSearchParams {
  const known = Object.keys(parameters).flatMap((name) => query.getAll(name).map((value) => [name, value]))
  return new URLSearchParams(known)
}

/**
 * Returns a cache key: equal for requests with equal responses; null for a path with parameters that no route matches.
 */
export function sameAnswerKey({ path, query }: RestRequest): string | null {
  if (query.size === 0) return path
  const found = matchers.find(({ match }) => match(path) !== null)
  return found === undefined ? null : `${path}?${knownParameters(found.route, query).toString()}`
}

/** Converts a GraphQL error to a problem: the argument of the schema is reported as the parameter of the path. */
function failure({ parameters }: Route, { message, extensions }: ExecutionError): Answer {
  const { argument, code } = extensions ?? {}
  if (code === 'DATABASE_UNAVAILABLE' || code === 'DEADLINE_EXCEEDED' || code === 'OVERLOADED')
    return retryLater(code, message)
  if (code === 'HISTORY_NOT_KEPT') {
    return problem(code, message, 'at', { historySince: extensions?.['historySince'] })
  }
  if (code !== 'BAD_USER_INPUT') return problem('INTERNAL', message)
  if (typeof argument !== 'string') return problem('BAD_PARAMETER', message)
  const [name = argument] = Object.entries(parameters).find(([, { variable }]) => variable === argument) ?? []
  return problem('BAD_PARAMETER', inWordsOf(name, argument, message), name)
}

function inWordsOf(parameter: string, argument: string, message: string): string {
  if (message.startsWith(`${argument} `)) return parameter + message.slice(argument.length)
  // graphql-js prefixes coercion errors with the variable's name and value.
  return message.startsWith('Variable "$') ? `${parameter}: ${message.slice(message.indexOf('; ') + 2)}` : message
}
