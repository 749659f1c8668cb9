import type { Headers } from './headers.ts'
import { Problem, type ProblemCode, type ProblemOptions } from '../problem.ts'
import { pathParameterNames } from '../route.ts'
import { type Schema, text } from './schemas.ts'

/** The parts of a route, of data or of a stream, on which its documented problems depend. */
export interface DocumentedRoute {
  readonly path: string
  readonly queryParameters: Readonly<Record<string, unknown>>
  readonly notFound?: { readonly code: ProblemCode }
  readonly past?: unknown
}

/** Documentation of a kind of problem. */
export interface Refusal {
  readonly when: string
  /** Returns whether a route may return it. */
  readonly isOf: (route: DocumentedRoute) => boolean
  /**
   * Stage that returns it: refusals before rate limiting have no rate limit headers, and errors of the connection have
   * no common headers at all.
   */
  readonly by: 'connection' | 'before rate limit' | 'path'
  /** Headers of this problem only. */
  readonly headers: Headers
  /** Example of the response body. */
  readonly example: unknown
}

const all = (): boolean => true
const none = (): boolean => false
const hasParameters: Refusal['isOf'] = ({ path, queryParameters }) =>
  pathParameterNames(path).length > 0 || Object.keys(queryParameters).length > 0
const ofStreams: Refusal['isOf'] = ({ path }) => path.startsWith('/live/')

/** Documentation of each kind of problem, by code. */
export const refusals: Readonly<Record<ProblemCode, Refusal>> = {
  BAD_REQUEST: {
    when: 'The bytes received are not HTTP/1.1, or the header Host is missing, repeated or names no host.',
    isOf: all,
    by: 'connection',
    headers: {},
    example: example('BAD_REQUEST', 'This is not HTTP/1.1.'),
  },
  BAD_PARAMETER: {
    when: 'The address or a parameter is invalid.',
    isOf: hasParameters,
    by: 'path',
    headers: {},
    example: example('BAD_PARAMETER', 'since is 1767225600, after until, 1763424000', { parameter: 'since' }),
  },
  BAD_DATA_VERSION: {
    when: 'Min-Data-Version is not the value of a Data-Version header.',
    isOf: all,
    by: 'path',
    headers: {},
    example: example('BAD_DATA_VERSION', 'Send the value of a Data-Version header.'),
  },
  UNAUTHENTICATED: {
    when: 'API keys are configured, and the request has none that is accepted.',
    isOf: all,
    by: 'path',
    headers: { 'WWW-Authenticate': text('How to authenticate.', 'Bearer') },
    example: example('UNAUTHENTICATED', 'Send the header Authorization: Bearer with an API key.'),
  },
  VAULT_NOT_FOUND: {
    when: 'No vault is known at the address.',
    isOf: ({ path, notFound }) => notFound?.code === 'VAULT_NOT_FOUND' || path === '/live/vaults',
    by: 'path',
    headers: {},
    example: example('VAULT_NOT_FOUND', 'no vault is known at 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A'),
  },
  PATH_NOT_FOUND: {
    when: 'The path is none of the interface.',
    isOf: none,
    by: 'path',
    headers: {},
    example: example('PATH_NOT_FOUND', '/vaults is none of the paths of this interface'),
  },
  METHOD_NOT_ALLOWED: {
    when: 'The path was requested with another method than GET, HEAD or OPTIONS.',
    isOf: all,
    by: 'path',
    headers: { Allow: text('The methods that are allowed.', 'GET, HEAD, OPTIONS') },
    example: example('METHOD_NOT_ALLOWED', 'POST is not allowed, only GET, HEAD, OPTIONS'),
  },
  REQUEST_TIMEOUT: {
    when: 'The request did not come whole in time.',
    isOf: all,
    by: 'connection',
    headers: {},
    example: example('REQUEST_TIMEOUT', 'The request did not come whole in time.'),
  },
  HISTORY_CHANGED: {
    when: 'Min-Data-Version is not part of the current history: it was lost in a failover, or is older than the kept history.',
    isOf: all,
    by: 'path',
    headers: {},
    example: example(
      'HISTORY_CHANGED',
      'Version 1842.7301934470216482113 is not part of the current history: discard cached data and read again.',
    ),
  },
  HISTORY_NOT_KEPT: {
    when: 'The state of the vault is kept from historySince on, and not that of this moment.',
    isOf: ({ past }) => past !== undefined,
    by: 'path',
    headers: {},
    example: example(
      'HISTORY_NOT_KEPT',
      'The state of 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A is kept from 1763427600 on, and not that of 1763424000.',
      { parameter: 'at', members: { historySince: 1763427600 } },
    ),
  },
  BODY_TOO_LARGE: {
    when: 'The body has more bytes than are read; these paths read none.',
    isOf: none,
    by: 'before rate limit',
    headers: {},
    example: example('BODY_TOO_LARGE', 'The body has more than 65536 bytes.'),
  },
  TARGET_TOO_LONG: {
    when: 'Path and query have more bytes than are read.',
    isOf: all,
    by: 'before rate limit',
    headers: {},
    example: example('TARGET_TOO_LONG', 'Path and query have 9000 bytes, more than 8192.'),
  },
  TOO_MANY_STREAMS: {
    when: 'Too many streams of this key or address are open.',
    isOf: ofStreams,
    by: 'path',
    headers: { 'Retry-After': inSeconds('4') },
    example: example('TOO_MANY_STREAMS', 'More than 20 streams are open of this key or address: close one of them.'),
  },
  RATE_LIMITED: {
    when: 'A rate limit is configured, and the sender has used it up.',
    isOf: all,
    by: 'path',
    headers: { 'Retry-After': inSeconds('12') },
    example: example('RATE_LIMITED', 'More than 100 requests in 60 s: the next is answered in 12 s.'),
  },
  HEADERS_TOO_LARGE: {
    when: 'There are more headers, or more bytes of them, than are read.',
    isOf: all,
    by: 'connection',
    headers: {},
    example: example('HEADERS_TOO_LARGE', 'Request line and headers have more bytes than are read.'),
  },
  INTERNAL: {
    when: 'An internal error, logged with its request id; no details are disclosed.',
    isOf: all,
    by: 'path',
    headers: {},
    example: example(
      'INTERNAL',
      'Something went wrong here. It is logged with the request id 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57.',
    ),
  },
  DATABASE_UNAVAILABLE: {
    when: 'The database does not answer now.',
    isOf: all,
    by: 'path',
    headers: { 'Retry-After': inSeconds('2') },
    example: example('DATABASE_UNAVAILABLE', 'The database does not answer now. Try again later.'),
  },
  DEADLINE_EXCEEDED: {
    when: 'The answer took too long, and was given up.',
    isOf: all,
    by: 'path',
    headers: { 'Retry-After': inSeconds('2') },
    example: example('DEADLINE_EXCEEDED', 'The answer took more than 10 s. Request less data, or try again later.'),
  },
  DATA_NOT_THERE_YET: {
    when: 'The data did not reach Min-Data-Version in time.',
    isOf: all,
    by: 'path',
    headers: { 'Retry-After': inSeconds('2') },
    example: example('DATA_NOT_THERE_YET', 'Version 1842.7301934470216482113 was not reached within 2 s.'),
  },
  OVERLOADED: {
    when: 'Too many requests are waiting.',
    isOf: all,
    by: 'path',
    headers: { 'Retry-After': inSeconds('2') },
    example: example('OVERLOADED', 'Too many requests are waiting. Try again later.'),
  },
  NOT_READY: {
    when: 'The gateway can not serve now.',
    isOf: none,
    by: 'path',
    headers: {},
    example: example('NOT_READY', 'The database is not reachable.'),
  },
}

function inSeconds(seconds: string): Schema {
  return { ...text('In how many seconds to request again.', seconds), pattern: '^\\d+$' }
}

function example(code: ProblemCode, detail: string, options?: ProblemOptions): unknown {
  return new Problem(code, detail, options).toJSON()
}
