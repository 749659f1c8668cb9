import type { Cancellation } from '../database/cancellation.ts'
import { withoutCovered } from '../database/commits/cache-tags.ts'
import { AdmissionQueueFull } from '../graphql/execution/admission/admission-control.ts'
import type { RequestContext } from '../graphql/execution/context.ts'
import { masked } from '../graphql/execution/errors.ts'
import type { HttpLimits } from '../limits.ts'
import { problem } from '../rest/problem.ts'
import type { Produce } from './cache/cached.ts'
import type { Answer } from '../rest/problem.ts'
import type { Exchange } from './middleware.ts'
import { withinDeadline } from './middleware/timeout.ts'
import { lateAnswer, overloaded, refusalOf } from './refuse.ts'
import type { SharedCapacity } from './server/capacity/shared-capacity.ts'

/** Produces the response of a request from data. */
export type Respond = (exchange: Exchange, context: RequestContext) => Answer | Promise<Answer>

/** Produces a response in a way of its own. */
export type ProduceBy = (...[exchange, onLeave, respond]: [...Parameters<Produce>, Respond]) => ReturnType<Produce>

/** Produces responses from data, within the limits on concurrency and each within its deadline. */
export function producer(limits: HttpLimits, capacity: SharedCapacity): ProduceBy {
  async function attempt(exchange: Exchange, context: RequestContext, respond: Respond): Promise<Answer> {
    try {
      return await respond(exchange, context)
    } catch (error) {
      // A cancelled execution rejects; its client has disconnected or received the timeout response.
      if (context.signal?.aborted === true) return lateAnswer(limits.answerSeconds)
      if (error instanceof AdmissionQueueFull) return refusalOf(exchange.request, overloaded())
      return refusalOf(exchange.request, problem('INTERNAL', masked(context.report(error))))
    } finally {
      // A cancelled execution takes capacity until it has ended.
      capacity.endAnswer(exchange.sender)
    }
  }

  return async (exchange, onLeave, respond) => {
    const { request, sender, stamp, trace } = exchange
    if (!capacity.beginAnswer(sender)) return { answer: refusalOf(request, overloaded()), tags: null, version: null }
    let version: string | null = null
    const cacheTags = new Set<string>()
    const caching = { isAllowed: true }
    const work = (signal: Cancellation): Promise<Answer> => {
      const context = {
        report: trace.report,
        sender,
        signal,
        cacheTags,
        doNotCache: () => void (caching.isAllowed = false),
        onVersion: (read: string | null) => void (version = read),
        ...(stamp && { data: stamp }),
      }
      return attempt(exchange, context, respond)
    }
    const tooLate = (): Answer => refusalOf(request, lateAnswer(limits.answerSeconds))
    const answer = await withinDeadline(limits.answerSeconds, onLeave, work, tooLate)
    // A response without reads is introspection: large and rare, it would only evict other responses.
    return { answer, tags: cacheTags.size > 0 && caching.isAllowed ? withoutCovered(cacheTags) : null, version }
  }
}
