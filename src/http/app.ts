import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Bounds, defaultBounds, type QueryBounds, turnBounds } from '../bounds.ts'
import type { Cancellation } from '../database/cancellation.ts'
import { type Context, contextsOn, type Making, type OnBatch } from '../graphql/context.ts'
import { createExecutor } from '../graphql/execute.ts'
import { masked } from '../graphql/failures.ts'
import { createTurns } from '../graphql/turns.ts'
import { rest } from '../rest/handler.ts'
import { problem } from '../rest/problem.ts'
import { type AnswerCache, createAnswerCache, type Made, type OnLeave } from './answer-cache.ts'
import { lateAnswer, outOfBounds, tooLarge } from './bounds.ts'
import { fetchedBody, socketBody } from './body.ts'
import { cacheKey } from './cache-key.ts'
import { corsHeaders } from './cors.ts'
import { withinDeadline } from './deadline.ts'
import { docs, isOfDocs } from './docs.ts'
import { admitted, type Answer, type Inbound, type Verdict } from './exchange.ts'
import type { Exposition } from './exposition.ts'
import { Finished } from './finished.ts'
import { createGraphql, graphqlPath, preflightAnswer } from './graphql.ts'
import { inGraphql } from './graphql-refusals.ts'
import { createProbes, isProbe, type Readiness } from './health.ts'
import { headerList } from './header-list.ts'
import { fromFetch, fromSocket } from './inbound.ts'
import { keyCheck } from './keys.ts'
import { type Outbound, outbound, toResponse, write } from './outbound.ts'
import { type RateLimit, rateLimiter, senderOf } from './rate-limit.ts'
import { createTracing, type Trace, type TracingOptions } from './tracing.ts'
import { whenThere } from './when-there.ts'

export interface AppOptions extends TracingOptions {
  readonly database: Context['database']
  /** None: open to all. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** How many proxies stand before the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
  readonly bounds?: Bounds
  /** Without one, every answer is made anew. */
  readonly cache?: AnswerCache
  readonly queryBounds?: QueryBounds
  /** What `/ready` asks; it answers 200 where there is nothing to ask. */
  readonly readiness?: Readiness
  /** What `/metrics` tells; without it the path isn't there. */
  readonly metrics?: Exposition | null
  readonly onBatch?: OnBatch
}

/** The gateway, by fetch and by a socket. */
export interface App {
  fetch(request: Request): Promise<Response>
  listener(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export function createApp({ database, apiKeys, rateLimit, trustedProxies, ...options }: AppOptions): App {
  const { bounds = defaultBounds, cache = createAnswerCache(0), queryBounds, readiness, metrics, onBatch } = options
  const begin = createTracing(options)
  const probe = createProbes(readiness, metrics)
  const contextOf = contextsOn(database, onBatch)
  const turns = createTurns(turnBounds)
  const graphql = createGraphql({ contextOf, turns, isOpen: apiKeys.length === 0, queryBounds })
  const execute = createExecutor({ contextOf, turns })
  const checkKey = keyCheck(apiKeys)
  const countRequest = rateLimiter(rateLimit)

  function admit(request: Inbound): Verdict | Promise<Verdict> {
    const refusal = outOfBounds(request, bounds)
    if (refusal !== undefined) return { headers: {}, refusal }
    if (isProbe(request)) return admitted
    // A preflight can't carry a key, and the pages for people and the contract hold no data.
    if (request.method === 'OPTIONS' || isGraphiqlPage(request) || isOfDocs(request)) return admitted
    const { keyDigest, ...key } = checkKey(request)
    if (key.refusal !== undefined) return key
    return countRequest(() => keyDigest ?? senderOf(request, trustedProxies))
  }

  async function run(request: Inbound, body: Buffer<ArrayBuffer>, making: Making): Promise<Answer> {
    try {
      if (request.method === 'OPTIONS' && isGraphql(request)) return preflightAnswer
      if (isGraphql(request)) return await graphql(request, body, making)
      const found = await (docs(request) ?? rest(request, (wanted, variables) => execute(wanted, variables, making)))
      return found ?? problem('PATH_NOT_FOUND', `${request.path} is none of the paths of this interface`)
    } catch (error) {
      // What was given up says so, to nobody.
      if (making.signal?.aborted === true) return lateAnswer(bounds.answerSeconds)
      return problem('INTERNAL', masked(making.report(error)))
    }
  }

  async function make({ request, trace }: Exchange, body: Buffer<ArrayBuffer>, onLeave: OnLeave): Promise<Made> {
    const sources = new Set<string>()
    let kept: ReadonlySet<string> | null = sources
    const failed = (): void => void (kept = null)
    const work = (signal: Cancellation): Promise<Answer> =>
      run(request, body, { report: trace.report, signal, sources, failed })
    const tooLate = (): Answer => inItsWords(request, lateAnswer(bounds.answerSeconds))
    const answer = await withinDeadline(bounds.answerSeconds, onLeave, work, tooLate)
    // What is made from the schema alone is large and seldom asked: it would only drive out what is asked often.
    return { answer, sources: sources.size === 0 ? null : kept }
  }

  /** What is kept of an answer like this, or what is made and kept. */
  function keptOrMade(exchange: Exchange, body: Buffer<ArrayBuffer>): Finished | Promise<Finished> {
    const { request, onLeave } = exchange
    const key = isGraphiqlPage(request) ? null : cacheKey(request, body)
    return cache.answer(key, onLeave, (whenLeft) => make(exchange, body, whenLeft))
  }

  /** What is said to what was admitted, with its body where that is in bounds. */
  function answer(exchange: Exchange, { refusal }: Verdict): Finished | Promise<Finished> {
    const { request } = exchange
    if (refusal !== undefined) return new Finished(inItsWords(request, refusal))
    if (isProbe(request)) return probe(request).then((told) => new Finished(told))
    if (!isGraphql(request)) return keptOrMade(exchange, noBody)
    return exchange
      .readBody()
      .then((body) =>
        body === null ? new Finished(inItsWords(request, tooLarge(bounds))) : keptOrMade(exchange, body),
      )
  }

  /** What is kept is answered at once. */
  function handle(exchange: Exchange): Outbound | Promise<Outbound> {
    const { request, trace } = exchange
    return whenThere(admit(request), (verdict) =>
      whenThere(answer(exchange, verdict), (finished) => {
        const said =
          verdict === admitted
            ? corsHeaders(request.method)
            : corsHeaders(request.method).concat(headerList(verdict.headers))
        const own = said.concat('x-request-id', trace.id)
        return outbound(request, finished, own)
      }),
    )
  }

  return {
    async fetch(request) {
      const inbound = fromFetch(request)
      const trace = begin(inbound)
      const exchange = {
        request: inbound,
        trace,
        readBody: () => fetchedBody(request, bounds),
        onLeave: (giveUp: () => void) => request.signal.addEventListener('abort', giveUp, { once: true }),
      }
      const answered = await handle(exchange)
      trace.end(answered.status)
      return toResponse(inbound, answered)
    },

    async listener(request, response) {
      const inbound = fromSocket(request)
      const trace = begin(inbound)
      const exchange = {
        request: inbound,
        trace,
        readBody: () => socketBody(request, bounds),
        onLeave: (giveUp: () => void) => response.once('close', () => response.writableFinished || giveUp()),
      }
      response.on('close', () => trace.end(response.writableFinished ? response.statusCode : null))
      const answered = handle(exchange)
      await write(response, inbound, answered instanceof Promise ? await answered : answered)
    },
  }
}

/** A request, whichever way it came. */
interface Exchange {
  readonly request: Inbound
  readonly trace: Trace
  /** Null where the body is out of bounds. */
  readonly readBody: () => Promise<Buffer<ArrayBuffer> | null>
  readonly onLeave: OnLeave
}

const noBody = Buffer.alloc(0)

function isGraphql({ path }: Inbound): boolean {
  return path === graphqlPath
}

function isGraphiqlPage(request: Inbound): boolean {
  const accepts = request.header('accept') ?? ''
  return isGraphql(request) && request.method === 'GET' && accepts.includes('text/html')
}

/** A refusal as the path's clients expect it: a problem, or a GraphQL error. */
function inItsWords(request: Inbound, refusal: Answer): Answer {
  return isGraphql(request) ? inGraphql(refusal) : refusal
}
