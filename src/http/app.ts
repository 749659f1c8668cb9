import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Database } from '../database/database.ts'
import { stringify } from '../graphql/exact-number.ts'
import { createExecutor } from '../graphql/execute.ts'
import { reportOnce, type ReportUnplanned } from '../graphql/failures.ts'
import { createRest } from '../rest/handler.ts'
import { problem } from '../rest/problem.ts'
import { tagged } from './caching.ts'
import { corsHeaders } from './cors.ts'
import type { Answer, Inbound, Verdict } from './exchange.ts'
import { createGraphql, graphqlPath, preflightAnswer } from './graphql.ts'
import { keyCheck } from './keys.ts'
import { type RateLimit, rateLimiter, senderOf } from './rate-limit.ts'

export interface AppOptions {
  readonly database: Database
  /** None: open to all. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** How many proxies stand before the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
  readonly report: ReportUnplanned
}

/** The gateway, by fetch and by a socket. */
export interface App {
  fetch(request: Request): Promise<Response>
  listener(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export function createApp({ database, apiKeys, rateLimit, trustedProxies, ...options }: AppOptions): App {
  const report = reportOnce(options.report)
  const graphql = createGraphql({ database, report, isOpen: apiKeys.length === 0 })
  const rest = createRest({ execute: createExecutor(database, report), stringify })
  const checkKey = keyCheck(apiKeys)
  const countRequest = rateLimiter(rateLimit)

  async function admit(request: Inbound): Promise<Verdict> {
    // A preflight can't carry a key, and GraphiQL's page holds no data.
    if (request.method === 'OPTIONS' || isGraphiqlPage(request)) return { headers: {} }
    const { keyDigest, ...key } = checkKey(request)
    if (key.refusal !== undefined) return key
    return countRequest(keyDigest ?? senderOf(request, trustedProxies))
  }

  async function answer(request: Inbound, verdict: Verdict): Promise<Answer> {
    return tagged(refused(request, verdict) ?? (await run(request)), request.header('if-none-match'))
  }

  async function run(request: Inbound): Promise<Answer> {
    const { path } = request
    if (isGraphql(request)) return preflightAnswer
    try {
      return (await rest(request)) ?? problem('PATH_NOT_FOUND', `${path} is none of the paths of this interface`)
    } catch (error) {
      report(error)
      return problem('INTERNAL', 'Something went wrong here.')
    }
  }

  return {
    async fetch(request) {
      const inbound = fromFetch(request)
      const verdict = await admit(inbound)
      const headers = { ...corsHeaders, ...verdict.headers }
      if (isForGraphql(inbound, verdict)) return withHeaders(await graphql.fetch(request), headers)
      const { status, body, ...rest } = await answer(inbound, verdict)
      const bodiless = inbound.method === 'HEAD' || status === 204 || status === 304
      return new Response(bodiless ? null : body, { status, headers: { ...rest.headers, ...headers } })
    },

    async listener(request, response) {
      const inbound = fromSocket(request)
      const verdict = await admit(inbound)
      for (const [name, value] of Object.entries({ ...corsHeaders, ...verdict.headers }))
        response.setHeader(name, value)
      if (isForGraphql(inbound, verdict)) return void (await graphql(request, response))
      write(response, inbound, await answer(inbound, verdict))
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
  const { pathname, searchParams } = new URL(request.url)
  const header = (name: string): string | null => request.headers.get(name)
  return { method: request.method, path: pathname, query: searchParams, header, remoteAddress: null }
}

function fromSocket(request: IncomingMessage): Inbound {
  const [path = '/', ...query] = (request.url ?? '/').split('?')
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(query.join('?')),
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
