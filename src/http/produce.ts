import { setImmediate as nextIteration } from 'node:timers/promises'
import { Canceller, resultWithin } from '../database/cancellation.ts'
import { fewestTags } from '../database/commits/cache-tags.ts'
import { AdmissionQueueFull } from '../graphql/execution/admission/admission-control.ts'
import type { DataOrigin, RequestContext } from '../graphql/execution/context.ts'
import { masked } from '../graphql/execution/errors.ts'
import { charactersAtOnce, type HttpLimits } from '../limits.ts'
import { Problem } from '../rest/problem.ts'
import type { TextResponse } from '../rest/text-response.ts'
import type { EdgePolicy } from './cache/edge.ts'
import { EncodedResponse } from './cache/encoded-response.ts'
import type { OnAllLeft } from './cache/productions.ts'
import type { DataVersions } from './cache/data-versions.ts'
import type { Exchange } from './middleware.ts'
import { deadlineExceeded, overloaded, formatProblem, outdated, refuse } from './refuse.ts'
import type { ProcessCapacity } from './server/capacity/process-capacity.ts'

/** The members of an exchange by which its response is produced. */
export type ProducedExchange = Pick<Exchange, 'request' | 'sender'> & {
  readonly trace: Pick<Exchange['trace'], 'report'>
}

/** Responds to a request from data, in text: by GraphQL, or by REST. */
export type Respond<Requested = Exchange> = (
  exchange: Requested,
  requestContext: RequestContext,
) => TextResponse | Promise<TextResponse>

/** Runs `respond` within the limits that apply to all responses, and encodes its text. */
export type Produce = <Requested extends ProducedExchange>(
  exchange: Requested,
  onAllLeft: OnAllLeft,
  respond: Respond<Requested>,
) => Promise<EncodedResponse>

/** Produces responses from data, within the limits on concurrency and each within its deadline. */
export function createProduce(
  { answerSeconds }: Pick<HttpLimits, 'answerSeconds'>,
  capacity: ProcessCapacity,
  versions: DataVersions,
  edgePolicy: EdgePolicy | null,
): Produce {
  async function respondOrRefuse<Requested extends ProducedExchange>(
    exchange: Requested,
    requestContext: RequestContext,
    respond: Respond<Requested>,
  ): Promise<TextResponse> {
    try {
      return await respond(exchange, requestContext)
    } catch (error) {
      // A cancelled execution rejects; its client has disconnected or received the timeout response.
      if (requestContext.signal?.aborted === true)
        return formatProblem(exchange.request, deadlineExceeded(answerSeconds))
      if (error instanceof AdmissionQueueFull) return formatProblem(exchange.request, overloaded())
      return formatProblem(exchange.request, new Problem('INTERNAL', masked(requestContext.report(error))))
    } finally {
      // A cancelled execution takes capacity until it has ended.
      capacity.responsesInProduction.giveBack(exchange.sender, 1)
    }
  }

  return async (exchange, onAllLeft, respond) => {
    const { request, sender, trace } = exchange
    if (!capacity.responsesInProduction.take(sender, 1)) return refuse(request, overloaded())
    // Later than the state at the start of the request, where that has waited for the production of another one.
    const notified = versions.currentState()
    const recorded: DataOrigin = { tags: new Set(), version: null, isCacheable: true }
    const signal = new Canceller()
    onAllLeft(() => signal.abort())
    const requestContext = {
      report: trace.report,
      sender,
      signal,
      origin: recorded,
      stateAtStart: notified,
    }
    const inTime = await resultWithin(answerSeconds * 1000, respondOrRefuse(exchange, requestContext, respond))
    if (inTime === null) signal.abort()
    const produced = inTime ?? formatProblem(request, deadlineExceeded(answerSeconds))
    const { version } = recorded
    const response = versions.isOutdated(version, notified) ? formatProblem(request, outdated()) : produced
    const tags = fewestTags(recorded.tags)
    // Its text has taken time: it is encoded in the next iteration of the event loop.
    if (response.body.length > charactersAtOnce) await nextIteration()
    // A response without reads is a refusal, or introspection: it would only evict other responses. Data of a version that
    // was not notified yet may be of another history.
    const isCacheable = recorded.isCacheable && tags.size > 0 && !versions.isUnnotified(version)
    const origin = { tags, version, isCacheable, notified }
    return new EncodedResponse(edgePolicy?.(request, response, origin) ?? response, origin)
  }
}
