import type { TextResponse } from './text-response.ts'

/** Kinds of problems by code, with HTTP status and title. */
export const problems = {
  BAD_REQUEST: { status: 400, title: 'The request can not be read' },
  BAD_PARAMETER: { status: 400, title: 'Invalid parameter' },
  BAD_DATA_VERSION: { status: 400, title: 'Invalid Min-Data-Version' },
  UNAUTHENTICATED: { status: 401, title: 'An API key is required' },
  VAULT_NOT_FOUND: { status: 404, title: 'No such vault' },
  PATH_NOT_FOUND: { status: 404, title: 'No such path' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The interface is read-only' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request took too long' },
  HISTORY_CHANGED: { status: 409, title: 'The version is of another history' },
  HISTORY_NOT_KEPT: { status: 410, title: 'The state of that time is not kept' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  TARGET_TOO_LONG: { status: 414, title: 'Path and query are too long' },
  TOO_MANY_STREAMS: { status: 429, title: 'Too many streams' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  HEADERS_TOO_LARGE: { status: 431, title: 'The headers are too large' },
  INTERNAL: { status: 500, title: 'Something went wrong here' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'The database does not answer' },
  DEADLINE_EXCEEDED: { status: 503, title: 'The answer took too long' },
  DATA_NOT_THERE_YET: { status: 503, title: 'The data version has not been reached yet' },
  OVERLOADED: { status: 503, title: 'The gateway is busy' },
  NOT_READY: { status: 503, title: 'The gateway is not ready' },
} as const
/** Code of a kind of problem. */
export type ProblemCode = keyof typeof problems

/** The optional parts of a problem. */
export interface ProblemOptions {
  /** Name of the invalid parameter. */
  readonly parameter?: string
  /** Further members of its JSON. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Headers of the response that sends it. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A problem of a request, independent of the format that its path sends: JSON (RFC 9457, Problem Details for HTTP APIs), or a
 * GraphQL error.
 */
export class Problem {
  readonly code: ProblemCode
  readonly detail: string
  readonly status: number
  readonly title: string
  readonly headers: Readonly<Record<string, string>>
  readonly #members: Readonly<Record<string, unknown>>

  constructor(code: ProblemCode, detail: string, { parameter, members, headers = {} }: ProblemOptions = {}) {
    this.code = code
    this.detail = detail
    this.status = problems[code].status
    this.title = problems[code].title
    this.headers = headers
    this.#members = { ...(parameter === undefined ? {} : { parameter }), ...members }
  }

  /** Returns the members of RFC 9457, section 3.1, and those of this problem. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { title, status, detail } = this
    const type = `urn:vault-gateway:problem:${this.code.toLowerCase().replaceAll('_', '-')}`
    return { type, title, status, detail, ...this.#members }
  }
}

/** Converts a problem into its response in JSON. */
export function problemResponse(problem: Problem): TextResponse {
  return {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', ...problem.headers },
    body: JSON.stringify(problem),
  }
}

/** Value of Retry-After: a restarting database takes a few seconds. */
const retrySeconds = 2

/** Creates a temporary problem, with Retry-After. */
export function retryLater(code: ProblemCode, detail: string): Problem {
  return new Problem(code, detail, { headers: { 'retry-after': String(retrySeconds) } })
}
