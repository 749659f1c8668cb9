import { BadParameter, readParameters } from './parameters.ts'
import { type Answer, problem, retryLater } from './problem.ts'
import type { Route, RequestedOperation } from './route.ts'
import { routes } from './routes.ts'

/** What of a request a path needs to know. */
export interface RestRequest {
  readonly method: string
  /** As it was sent, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
}

/** An error of the schema, as the gateway makes it known. */
export interface ExecutionError {
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

export interface Execution {
  /** JSON text of what is wanted; null where there is none. */
  readonly part: string | null
  /** JSON text of the data without it. */
  readonly rest: string
  readonly errors?: readonly ExecutionError[]
}

/** Runs a document through the gateway's own schema. */
export type Execute = (wanted: RequestedOperation, variables: Record<string, unknown>) => Promise<Execution>

/** Answers the six paths by what executes their documents; null where the path is none of them. */
export type Rest = (request: RestRequest, execute: Execute) => Promise<Answer> | null

export const allowedMethods = 'GET, HEAD, OPTIONS'

const matchers = routes.map((route) => ({ route, match: matcher(route) }))

export const rest: Rest = (request, execute) => {
  for (const { route, match } of matchers) {
    const segments = match(request.path)
    if (segments !== null) return onlyRead(request.method, () => run(execute, route, segments, request))
  }
  return null
}

type Segments = Readonly<Record<string, string>>

/** What a path gives to a route, which has one parameter at most: its segments, or null where it is of another. */
export function matcher({ path }: Route): (path: string) => Segments | null {
  const [, before = path, name, after = ''] = /^(.*):(\w+)(.*)$/.exec(path) ?? []
  if (name === undefined) return (requested) => (requested === path ? {} : null)
  return (requested) => {
    if (!requested.startsWith(before) || !requested.endsWith(after)) return null
    const given = requested.slice(before.length, -after.length)
    return given === '' || given.includes('/') ? null : { [name]: given }
  }
}

/** Answers a path that is only read. */
export async function onlyRead(method: string, read: () => Promise<Answer>): Promise<Answer> {
  if (method === 'OPTIONS') return { status: 204, headers: { allow: allowedMethods }, body: '' }
  return method === 'GET' || method === 'HEAD' ? read() : notAllowed(method)
}

export function notAllowed(method: string, allow = allowedMethods): Answer {
  const refusal = problem('METHOD_NOT_ALLOWED', `${method} is not allowed, only ${allow}`)
  return { ...refusal, headers: { ...refusal.headers, allow } }
}

async function run(execute: Execute, route: Route, segments: Segments, request: RestRequest): Promise<Answer> {
  try {
    const variables = { ...decoded(segments), ...readParameters(route.parameters, request.query) }
    const { part, rest, errors } = await execute(route.wanted, variables)
    const [error] = errors ?? []
    if (error !== undefined) return failure(route, error)
    if (part === null || part === 'null') {
      return problem('VAULT_NOT_FOUND', `no vault is known at ${String(variables['address'])}`)
    }
    return { status: 200, headers: headersOf(request, route, route.next?.(JSON.parse(rest) as never)), body: part }
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

/** What of a query the path reads, in one order: the rest is ignored. */
function knownParameters({ parameters }: Route, query: URLSearchParams): URLSearchParams {
  const known = Object.keys(parameters).flatMap((name) => query.getAll(name).map((value) => [name, value]))
  return new URLSearchParams(known)
}

/** The same for all requests that have the same answer; null for a path with parameters that is none of the six. */
export function sameAnswerKey({ path, query }: RestRequest): string | null {
  if (query.size === 0) return path
  const found = matchers.find(({ match }) => match(path) !== null)
  return found === undefined ? null : `${path}?${knownParameters(found.route, query).toString()}`
}

/** The schema names the argument at fault; the path's user knows it as a parameter. */
function failure({ parameters }: Route, { message, extensions }: ExecutionError): Answer {
  const { argument, code } = extensions ?? {}
  if (code === 'DATABASE_UNAVAILABLE' || code === 'DEADLINE_EXCEEDED' || code === 'OVERLOADED')
    return retryLater(code, message)
  if (code !== 'BAD_USER_INPUT') return problem('INTERNAL', message)
  if (typeof argument !== 'string') return problem('BAD_PARAMETER', message)
  const [name = argument] = Object.entries(parameters).find(([, { variable }]) => variable === argument) ?? []
  return problem('BAD_PARAMETER', inWordsOf(name, argument, message), name)
}

function inWordsOf(parameter: string, argument: string, message: string): string {
  if (message.startsWith(`${argument} `)) return parameter + message.slice(argument.length)
  // What graphql-js says of a variable that it can't coerce: its name and value, then the reason.
  return message.startsWith('Variable "$') ? `${parameter}: ${message.slice(message.indexOf('; ') + 2)}` : message
}
