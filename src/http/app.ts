import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../graphql/context.ts'
import { stringify } from '../graphql/exact-number.ts'
import { createExecutor } from '../graphql/execute.ts'
import { masked } from '../graphql/failures.ts'
import { createRest } from '../rest/handler.ts'
import { problem } from '../rest/problem.ts'
import { type Bounds, defaultBounds, outOfBounds, tooLarge } from './bounds.ts'
import { withBody, withSocketBody } from './body.ts'
import { tagged } from './caching.ts'
import { corsHeaders } from './cors.ts'
import { docs, isOfDocs } from './docs.ts'
import type { Answer, Inbound, Verdict } from './exchange.ts'
import { createGraphql, graphqlPath, preflightAnswer } from './graphql.ts'
import { createProbes, isProbe, type Readiness } from './health.ts'
import { keyCheck } from './keys.ts'
import { type RateLimit, rateLimiter, senderOf } from './rate-limit.ts'
import { createTracing, type TracingOptions } from './tracing.ts'

export interface AppOptions extends TracingOptions {
  readonly database: Context['database']
  /** None: open to all. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** How many proxies stand before the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
  readonly bounds?: Bounds
  /** What `/ready` asks; it answers 200 where there is nothing to ask. */
  readonly readiness?: Readiness
}

/** The gateway, by fetch and by a socket. */
export interface App {
  fetch(request: Request): Promise<Response>
  listener(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export function createApp({ database, apiKeys, rateLimit, trustedProxies, ...options }: AppOptions): App {
  const { bounds = defaultBounds, readiness } = options
  const tracing = createTracing(options)
  const { report } = tracing
  const probe = createProbes(readiness)
  const graphql = createGraphql({ database, report, isOpen: apiKeys.length === 0 })
  const rest = createRest({ execute: createExecutor(database, report), stringify })
  const checkKey = keyCheck(apiKeys)
  const countRequest = rateLimiter(rateLimit)

  async function admit(request: Inbound): Promise<Verdict> {
    const refusal = outOfBounds(request, bounds)
    if (refusal !== undefined) return { headers: {}, refusal }
    if (isProbe(request)) return { headers: {} }
    // A preflight can't carry a key, and the pages for people and the contract hold no data.
    if (request.method === 'OPTIONS' || isGraphiqlPage(request) || isOfDocs(request)) return { headers: {} }
    const { keyDigest, ...key } = checkKey(request)
    if (key.refusal !== undefined) return key
    return countRequest(keyDigest ?? senderOf(request, trustedProxies))
  }

  async function answer(request: Inbound, verdict: Verdict): Promise<Answer> {
    if (isProbe(request) && verdict.refusal === undefined) return probe(request)
    return tagged(refused(request, verdict) ?? (await run(request)), request.header('if-none-match'))
  }

  async function run(request: Inbound): Promise<Answer> {
    const { path } = request
    if (isGraphql(request)) return preflightAnswer
    try {
      const found = await (docs(request) ?? rest(request))
      return found ?? problem('PATH_NOT_FOUND', `${path} is none of the paths of this interface`)
    } catch (error) {
      return problem('INTERNAL', masked(report(error)))
    }
  }

  async function byFetch(inbound: Inbound, request: Request): Promise<Response> {
    const verdict = await admit(inbound)
    const headers = { ...corsHeaders, ...verdict.headers }
    const whole = isForGraphql(inbound, verdict) ? await withBody(request, bounds) : undefined
    if (whole) return withHeaders(await graphql.fetch(whole), headers)
    const { status, body, ...rest } = await answer(inbound, whole === null ? tooLarge(verdict, bounds) : verdict)
    const bodiless = inbound.method === 'HEAD' || status === 204 || status === 304
    return new Response(bodiless ? null : body, { status, headers: { ...rest.headers, ...headers } })
  }

  async function bySocket(inbound: Inbound, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verdict = await admit(inbound)
    for (const [name, value] of Object.entries({ ...corsHeaders, ...verdict.headers })) response.setHeader(name, value)
    const whole = isForGraphql(inbound, verdict) ? await withSocketBody(request, bounds) : undefined
    if (whole) return void (await graphql(whole, response))
    write(response, inbound, await answer(inbound, whole === null ? tooLarge(verdict, bounds) : verdict))
  }

  return {
    async fetch(request) {
      const inbound = fromFetch(request)
      const trace = tracing.begin(inbound)
      const response = await trace.run(() => byFetch(inbound, request))
      trace.end(response.status)
      return withHeaders(response, { 'x-request-id': trace.id })
    },

    async listener(request, response) {
      const inbound = fromSocket(request)
      const trace = tracing.begin(inbound)
      response.setHeader('x-request-id', trace.id)
      response.once('close', () => trace.end(response.writableFinished ? response.statusCode : null))
      await trace.run(() => bySocket(inbound, request, response))
    },
  }
}

function isGraphql({ path }: Inbound): boolean {
  return path === graphqlPath
}

/** Whether the request goes on to GraphQL over HTTP, which knows no OPTIONS. */
function isForGraphql(request: Inbound, { refusal }: Verdict): boolean {
  return isGraphql(request) && request.method !== 'OPTIONS' && refusal === undefined
}

function isGraphiqlPage(request: Inbound): boolean {
  const accepts = request.header('accept') ?? ''
  return isGraphql(request) && request.method === 'GET' && accepts.includes('text/html')
}

/** A refusal as the path's clients expect it: a problem, or a GraphQL error. */
function refused(request: Inbound, { refusal }: Verdict): Answer | undefined {
  if (refusal === undefined || !isGraphql(request)) return refusal
  const { title, detail, type } = JSON.parse(refusal.body) as { title: string; detail: string; type: string }
  const code = type
    .slice(type.lastIndexOf(':') + 1)
    .toUpperCase()
    .replaceAll('-', '_')
  return {
    status: refusal.status,
    headers: { 'content-type': 'application/graphql-response+json; charset=utf-8' },
    body: JSON.stringify({ errors: [{ message: `${title}. ${detail}`, extensions: { code } }] }),
  }
}

function fromFetch(request: Request): Inbound {
  const { pathname, search, searchParams } = new URL(request.url)
  return {
    method: request.method,
    target: pathname + search,
    path: pathname,
    query: searchParams,
    headerCount: [...request.headers].length,
    header: (name) => request.headers.get(name),
    remoteAddress: null,
  }
}

function fromSocket(request: IncomingMessage): Inbound {
  const target = request.url ?? '/'
  const [path = '/', ...query] = target.split('?')
  return {
    method: request.method ?? 'GET',
    target,
    path,
    query: new URLSearchParams(query.join('?')),
    headerCount: request.rawHeaders.length / 2,
    header: (name) => request.headers[name]?.toString() ?? null,
    remoteAddress: request.socket.remoteAddress ?? null,
  }
}

function write(response: ServerResponse, { method }: Inbound, { status, headers, body }: Answer): void {
  const bytes = Buffer.from(body)
  const hasBody = status !== 204 && status !== 304
  response.writeHead(status, hasBody ? { ...headers, 'content-length': bytes.length } : { ...headers })
  response.end(hasBody && method !== 'HEAD' ? bytes : undefined)
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
