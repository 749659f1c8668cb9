import { Registry } from 'prom-client'
import { type HttpLimits, probeMilliseconds } from '../../limits.ts'
import { answerReadOnly } from '../../rest/handler.ts'
import { Problem, problemResponse } from '../../rest/problem.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'
import { EncodedResponse, negotiate } from '../cache/encoded-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { requestRefusal } from '../middleware/request-checks.ts'
import { senderOf } from '../sender.ts'
import { createResponseWriter, type NodeListener } from '../server/node-adapter.ts'
import { metricsPath } from './probe-paths.ts'

/** Returns all metrics in Prometheus' text format. It never rejects, and its duration is limited. */
export type MetricsEndpoint = () => Promise<string>

/**
 * Creates an endpoint that joins the metrics of several registries. The result is cached for a second, since anyone may
 * request it at any rate.
 */
export function createMetricsEndpoint(readMetrics: () => Promise<readonly string[]>): MetricsEndpoint {
  return memoizeBriefly(() => readMetrics().then(joined), probeMilliseconds)
}

/** Responds with all metrics. */
export async function answerMetrics(endpoint: MetricsEndpoint): Promise<TextResponse> {
  return { status: 200, headers: { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }, body: await endpoint() }
}

/**
 * Creates a function that encodes responses that no cache may store. It returns the last one again while status and body are
 * the same, so that a text that many clients request is compressed once.
 */
export function encoderOfUnstored(): (response: TextResponse) => EncodedResponse {
  let last: { readonly body: string; readonly encoded: EncodedResponse } | null = null
  return ({ headers, ...response }) => {
    if (last?.body === response.body && last.encoded.status === response.status) return last.encoded
    const encoded = new EncodedResponse({ ...response, headers: { ...headers, 'cache-control': 'no-store' } })
    last = { body: response.body, encoded }
    return encoded
  }
}

/** Joins metrics, each once with the samples of all registries, as the text format requires. */
export function joined(texts: readonly string[]): string {
  const samplesOf = new Map<string, string[]>()
  for (const metric of texts.flatMap((text) => text.trimEnd().split('\n\n'))) {
    const lines = metric.split('\n')
    const head = lines.slice(0, 2).join('\n')
    samplesOf.set(head, [...(samplesOf.get(head) ?? []), ...lines.slice(2)])
  }
  return Array.from(samplesOf, ([head, samples]) => `${[head, ...samples].join('\n')}\n`).join('\n')
}

/** Creates a listener that serves only `/metrics`, for a separate port. It refuses the same requests as the main port. */
export function metricsListener(endpoint: MetricsEndpoint, limits: HttpLimits): NodeListener {
  const write = createResponseWriter()
  const encode = encoderOfUnstored()
  return async (request, response) => {
    const refusal = requestRefusal(request, limits)
    const whole = encode(refusal === undefined ? await answerTo(request, endpoint) : problemResponse(refusal))
    const sender = senderOf(request, 0)
    await write(response, await negotiate(request, whole, [], sender), sender)
  }
}

async function answerTo({ path, method }: IncomingRequest, endpoint: MetricsEndpoint): Promise<TextResponse> {
  if (path === metricsPath) return answerReadOnly(method, () => answerMetrics(endpoint))
  const detail = `${path} is not ${metricsPath}, which is all there is on this port`
  return problemResponse(new Problem('PATH_NOT_FOUND', detail))
}
