import { admissionLimits, type QueryLimits } from '../limits.ts'
import { type HttpLimits, defaultHttpLimits } from '../limits.ts'
import { withoutCovered } from '../database/commits/cache-tags.ts'
import type { Cancellation } from '../database/cancellation.ts'
import { AdmissionQueueFull, createAdmissionControl } from '../graphql/execution/admission-control.ts'
import type { RequestContext, OnBatch } from '../graphql/execution/context.ts'
import { createExecutor } from '../graphql/execution/executor.ts'
import { masked } from '../graphql/execution/errors.ts'
import { type Answering, inOneMomentOn } from '../graphql/execution/snapshot-consistency.ts'
import { rest } from '../rest/handler.ts'
import { problem } from '../rest/problem.ts'
import { type AdmitOptions, createAdmit } from './middleware/admit.ts'
import { type ResponseCache, createResponseCache, type Made, type OnLeave } from './cache/response-cache.ts'
import { lateAnswer, overloaded, tooLarge } from './middleware/request-size.ts'
import { cacheKey } from './cache/cache-key.ts'
import { corsHeaders } from './middleware/cors.ts'
import { DataVersions } from './cache/data-versions.ts'
import { withinDeadline } from './middleware/timeout.ts'
import { admitted, type Answer, type IncomingRequest, type Verdict } from './request-context.ts'
import type { MetricsEndpoint } from './ops/metrics-endpoint.ts'
import { CachedResponse } from './cache/cached-response.ts'
import { staticContent } from './ops/static-content.ts'
import { isGraphiqlPage, isGraphql } from './graphql/path.ts'
import { createGraphql, preflightAnswer } from './graphql/handler.ts'
import { inGraphql } from './graphql/refusals.ts'
import { createProbes, isProbe, type Readiness } from './ops/health.ts'
import { headerList } from './server/header-list.ts'
import { createSharedCapacity } from './server/load.ts'
import { minDataVersionHeader, type VersionAt, versionWaiter } from './middleware/min-data-version.ts'
import { type OutgoingResponse, outbound } from './server/response-adapter.ts'
import { createTracing, type TracingOptions } from './middleware/tracing.ts'
import { type App, type RequestInFlight, transports } from './server/transports.ts'
import { mapMaybePromise } from './async/map-maybe-promise.ts'

export type { App }

export interface AppOptions extends TracingOptions, Omit<AdmitOptions, 'bounds'> {
  readonly database: Answering
  readonly bounds?: HttpLimits
  /** Without one, every answer is made anew. */
  readonly cache?: ResponseCache
  /** What is known of the data's version; without it, none is. */
  readonly data?: DataVersions
  /** What the history of the data has; without it, only what was heard of. */
  readonly versionAt?: VersionAt
  /** Whether a feed was stopped, by the name that its position is kept under. */
  readonly isStopped?: (feed: string) => boolean
  /** Whether one waits for its database, for room on a disk, or for its file. */
  readonly isWaiting?: (feed: string) => boolean
  readonly queryBounds?: QueryLimits
  /** What `/ready` asks; it answers 200 where there is nothing to ask. */
  readonly readiness?: Readiness
  /** What `/metrics` tells; without it the path isn't there. */
  readonly metrics?: MetricsEndpoint | null
  readonly onBatch?: OnBatch
  /** Is told of each answer that is made again, in one snapshot. */
  readonly onRepeat?: () => void
}

export function createApp({ database, ...options }: AppOptions): App {
  const { bounds = defaultHttpLimits, cache = createResponseCache(0), queryBounds, readiness, metrics } = options
  const { data = new DataVersions(), versionAt = () => Promise.resolve(null) } = options
  const begin = createTracing(options)
  const probe = createProbes(readiness, metrics)
  const inOneMoment = inOneMomentOn(database, options)
  const awaitVersion = versionWaiter(data, versionAt)
  const admission = createAdmissionControl(admissionLimits)
  const graphql = createGraphql({ inOneMoment, admission, isOpen: options.apiKeys.length === 0, queryBounds })
  const execute = createExecutor({ inOneMoment, admission })
  const admit = createAdmit({ ...options, bounds })
  const load = createSharedCapacity(bounds)

  async function run(request: IncomingRequest, body: Buffer<ArrayBuffer>, making: RequestContext): Promise<Answer> {
    try {
      if (isGraphql(request)) return await graphql(request, body, making)
      const found = await rest(request, (wanted, variables) => execute(wanted, variables, making))
      return found ?? problem('PATH_NOT_FOUND', `${request.path} is none of the paths of this interface`)
    } catch (error) {
      // What was given up says so, to nobody.
      if (making.signal?.aborted === true) return lateAnswer(bounds.answerSeconds)
      if (error instanceof AdmissionQueueFull) return inItsWords(request, overloaded())
      return problem('INTERNAL', masked(making.report(error)))
    }
  }

  function failed({ trace }: RequestInFlight, error: unknown): CachedResponse {
    return new CachedResponse(problem('INTERNAL', masked(trace.report(error))))
  }

  async function make(
    { request, trace, stamp }: RequestInFlight,
    body: Buffer<ArrayBuffer>,
    onLeave: OnLeave,
  ): Promise<Made> {
    const sources = new Set<string>()
    const made = { isWhole: true }
    const failed = (): void => void (made.isWhole = false)
    const sender = admit.senderIn(request)
    if (!load.beginAnswer(sender)) return { answer: inItsWords(request, overloaded()), sources: null }
    // What is given up counts until it has ended.
    const work = (signal: Cancellation): Promise<Answer> =>
      run(request, body, {
        report: trace.report,
        sender,
        signal,
        sources,
        failed,
        ...(stamp && { data: stamp }),
      }).finally(() => load.endAnswer(sender))
    const tooLate = (): Answer => inItsWords(request, lateAnswer(bounds.answerSeconds))
    const answer = await withinDeadline(bounds.answerSeconds, onLeave, work, tooLate)
    // What is made from the schema alone is large and seldom asked: it would only drive out what is asked often.
    return { answer, sources: sources.size > 0 && made.isWhole ? withoutCovered(sources) : null }
  }

  /** What is kept of an answer like this, or what is made and kept. */
  function keptOrMade(exchange: RequestInFlight, body: Buffer<ArrayBuffer>): CachedResponse | Promise<CachedResponse> {
    const { request, onLeave } = exchange
    // What is kept still stands at the newest version, and nobody joins what was begun at an older one.
    exchange.stamp = data.now()
    const key = isGraphiqlPage(request) ? null : cacheKey(request, body)
    return cache.answer(key, onLeave, (whenLeft) => make(exchange, body, whenLeft))
  }

  /** What is said to what was admitted, with its body where that is in bounds. */
  function answer(exchange: RequestInFlight, { refusal }: Verdict): CachedResponse | Promise<CachedResponse> {
    const { request, onLeave } = exchange
    if (refusal !== undefined) return new CachedResponse(inItsWords(request, refusal))
    if (isProbe(request)) return probe(request).then((told) => new CachedResponse(told))
    const fixed = staticContent(request)
    if (fixed !== null) return fixed.catch((error: unknown) => failed(exchange, error))
    const wanted = request.header(minDataVersionHeader)
    if (wanted === null || request.method === 'OPTIONS') return content(exchange)
    return awaitVersion(wanted, onLeave).then((refused) =>
      refused === null ? content(exchange) : new CachedResponse(inItsWords(request, refused)),
    )
  }

  function content(exchange: RequestInFlight): CachedResponse | Promise<CachedResponse> {
    const { request } = exchange
    if (!isGraphql(request)) return keptOrMade(exchange, noBody)
    // A preflight has no key and no limit: nothing of it is read.
    if (request.method === 'OPTIONS') return new CachedResponse(preflightAnswer)
    return exchange
      .readBody()
      .then((body) =>
        typeof body === 'string'
          ? new CachedResponse(inItsWords(request, body === 'too large' ? tooLarge(bounds) : overloaded()))
          : keptOrMade(exchange, body),
      )
  }

  /** What is kept is answered at once. */
  function handle(exchange: RequestInFlight): OutgoingResponse | Promise<OutgoingResponse> {
    const { request, trace } = exchange
    return mapMaybePromise(admit(request), (verdict) =>
      mapMaybePromise(answer(exchange, verdict), (finished) => {
        const { stamp } = exchange
        const shared = stamp !== null && finished.status === 200 ? stamp.headers : corsHeaders(request.method)
        const said = verdict === admitted ? shared : shared.concat(headerList(verdict.headers))
        const own = said.concat('x-request-id', trace.id)
        return outbound(request, finished, own)
      }),
    )
  }

  return transports({ bounds, load, begin, handle, senderIn: (request) => admit.senderIn(request) })
}

const noBody = Buffer.alloc(0)

/** A refusal as the path's clients expect it: a problem, or a GraphQL error. */
function inItsWords(request: IncomingRequest, refusal: Answer): Answer {
  return isGraphql(request) ? inGraphql(refusal) : refusal
}
