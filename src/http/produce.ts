import { Canceller } from '../database/cancellation.ts'
import { withoutVaultTags } from '../database/commits/cache-tags.ts'
import { AdmissionQueueFull } from '../graphql/execution/admission/admission-control.ts'
import { type CollectedOrigin, type RequestContext, unknownData } from '../graphql/execution/context.ts'
import { masked } from '../graphql/execution/errors.ts'
import type { HttpLimits } from '../limits.ts'
import { sameAnswerKey } from '../rest/handler.ts'
import { type Answer, problem } from '../rest/problem.ts'
import type { DataVersions } from './cache/data-versions.ts'
import type { LetEdgesKeep } from './cache/edge.ts'
import { EncodedResponse } from './cache/encoded-response.ts'
import type { OnDisconnect, ResponseCache } from './cache/response-cache.ts'
import { graphqlPath } from './graphql/path.ts'
import type { Exchange, Handler } from './middleware.ts'
import { prefersCsv } from './middleware/content-negotiation.ts'
import { lateAnswer, overloaded, refusalOf, refuse } from './refuse.ts'
import type { SharedCapacity } from './server/capacity/shared-capacity.ts'

/** Answers a request of the interface from data. */
export type Respond = (exchange: Exchange, context: RequestContext) => Answer | Promise<Answer>

/** Produces a response within the limits that apply to all responses. */
export type ProduceBy = (exchange: Exchange, onDisconnect: OnDisconnect, respond: Respond) => Promise<EncodedResponse>

/** The parts that serve responses from the cache, or produce them. */
export interface CachedOptions {
  readonly cache: ResponseCache
  readonly data: DataVersions
  readonly produce: ProduceBy
  readonly respond: Respond
}

/**
 * Serves responses from the cache, or produces them: concurrent requests with equal keys share one production, unless
 * the cache is disabled. The data version is read before production begins, so that no data in the response is older.
 */
export function answerThroughCache({ cache, data, produce, respond }: CachedOptions): Handler {
  if (!cache.isEnabled) {
    return (exchange) => {
      exchange.stamp = data.currentStamp()
      return produce(exchange, exchange.onDisconnect, respond)
    }
  }
  return (exchange) => {
    exchange.stamp = data.currentStamp()
    const { sender, onDisconnect } = exchange
    return cache.answer(cacheKey(exchange), sender, onDisconnect, (whenLeft) => produce(exchange, whenLeft, respond))
  }
}

/** Maximum size of a cached request's body, in bytes: longer requests are seldom repeated. */
const maxBytes = 20_000

/** Extension of requests that register their document: a cached response would skip that, so they are not cached. */
const persistedName = 'persistedQuery'

/** Returns a key that is equal for requests with the same response; null if the response is not cached. */
function cacheKey({ request, body }: Exchange): string | null {
  const { method, path, target } = request
  if (path !== graphqlPath) {
    const key = method === 'GET' || method === 'HEAD' ? sameAnswerKey(request) : null
    return key !== null && prefersCsv(request.header('accept')) ? `csv ${key}` : key
  }
  if (body.length > maxBytes) return null
  const types = [request.header('accept') ?? '', request.header('content-type') ?? '']
  // HEAD is refused here, so that its response differs from that of GET.
  if (method === 'GET' && request.query.has('query') && target.includes(persistedName)) return null
  if (method === 'GET') return ['get', ...types, target].join('\n')
  if (method !== 'POST' || (body.includes(persistedName) && body.includes('"query"'))) return null
  return ['post', ...types, target, body.toString('latin1')].join('\n')
}

/** Produces responses from data, within the limits on concurrency and each within its deadline. */
export function producer(
  { answerSeconds }: Pick<HttpLimits, 'answerSeconds'>,
  capacity: SharedCapacity,
  letEdgesKeep: LetEdgesKeep | null,
): ProduceBy {
  async function respondOrRefuse(exchange: Exchange, context: RequestContext, respond: Respond): Promise<Answer> {
    try {
      return await respond(exchange, context)
    } catch (error) {
      // A cancelled execution rejects; its client has disconnected or received the timeout response.
      if (context.signal?.aborted === true) return lateAnswer(answerSeconds)
      if (error instanceof AdmissionQueueFull) return refusalOf(exchange.request, overloaded())
      return refusalOf(exchange.request, problem('INTERNAL', masked(context.report(error))))
    } finally {
      // A cancelled execution takes capacity until it has ended.
      capacity.answers.giveBack(exchange.sender, 1)
    }
  }

  return async (exchange, onDisconnect, respond) => {
    const { request, sender, stamp, trace } = exchange
    if (!capacity.answers.take(sender, 1)) return refuse(request, overloaded())
    const collected: CollectedOrigin = { tags: new Set(), version: null, isCacheable: true }
    const signal = new Canceller()
    onDisconnect(() => signal.abort())
    const context = { report: trace.report, sender, signal, origin: collected, data: stamp ?? unknownData }
    const tooLate = (): Answer => refusalOf(request, lateAnswer(answerSeconds))
    const answer = await withinDeadline(respondOrRefuse(exchange, context, respond), answerSeconds, signal, tooLate)
    const { version, isCacheable } = collected
    const tags = collected.tags.has('all vaults') ? withoutVaultTags(collected.tags) : collected.tags
    // A response without reads is a refusal, or introspection: it would only evict other responses.
    const origin = { tags: tags.size > 0 && isCacheable ? tags : null, version }
    return new EncodedResponse(letEdgesKeep?.(request, answer, origin) ?? answer, origin)
  }
}

/**
 * Returns the result of work, or a fallback if it exceeds the deadline; the work is then cancelled.
 * @param work ends by itself once its signal is aborted
 */
export async function withinDeadline<Result>(
  work: Promise<Result>,
  seconds: number,
  signal: Canceller,
  tooLate: () => Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<Result>((resolve) => {
    timer = setTimeout(() => {
      resolve(tooLate())
      signal.abort()
    }, seconds * 1000)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}
