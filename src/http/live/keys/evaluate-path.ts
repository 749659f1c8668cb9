import type { ServeCached } from '../../cache/cached.ts'
import type { IncomingRequest } from '../../incoming-request.ts'
import type { Exchange } from '../../middleware.ts'
import type { Evaluation } from './live-key.ts'
import { laterVersion } from './live-key.ts'

/** Sender of all evaluations of streams: together they have the share of one client. */
const liveSender = 'live'

/** Makes the response of a REST path, from the response cache or anew, as for any other request. */
export type EvaluatePath = (path: string) => Promise<Evaluation>

/**
 * Creates the evaluation of REST paths for streams.
 * @param report reports an unexpected error, by a request id
 */
export function pathEvaluation(answer: ServeCached, report: (error: unknown, requestId: string) => void): EvaluatePath {
  return async (path) => {
    const exchange = liveExchange(path, report)
    const response = await answer(exchange)
    // The response is current at the version that was heard of before it was made, even if it is from the cache.
    return { response, version: laterVersion(response.origin.version, exchange.stamp?.version ?? null) }
  }
}

function liveExchange(path: string, report: (error: unknown, requestId: string) => void): Exchange {
  return {
    request: requestOf(path),
    trace: {
      id: liveSender,
      report: (error) => {
        report(error, liveSender)
        return liveSender
      },
      end: () => undefined,
    },
    onLeave: () => undefined,
    readBody: () => Promise.resolve(Buffer.alloc(0)),
    sender: liveSender,
    body: Buffer.alloc(0),
    headers: [],
    stamp: null,
  }
}

function requestOf(path: string): IncomingRequest {
  return {
    method: 'GET',
    path,
    target: path,
    query: new URLSearchParams(),
    headerCount: 0,
    flaw: null,
    remoteAddress: null,
    header: () => null,
    headers: () => ({}),
  }
}
