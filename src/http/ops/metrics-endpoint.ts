import { Registry } from 'prom-client'
import { type HttpLimits, probeMilliseconds } from '../../limits.ts'
import { answerReadOnly } from '../../rest/handler.ts'
import { type TextResponse, problem } from '../../rest/problem.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'
import { EncodedResponse, negotiate } from '../cache/encoded-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { requestProblem } from '../middleware/request-size.ts'
import { senderOf } from '../sender.ts'
import { createResponseWriter, type NodeListener } from '../server/node-adapter.ts'
import { metricsPath } from './probe-paths.ts'

/** Returns all metrics in Prometheus' text format. It never rejects, and its duration is limited. */
export type MetricsEndpoint = () => Promise<string>

/**
 * Creates an endpoint that joins the metrics of several registries. The result is cached for a second, since anyone may
 * request it at any rate.
 */
export function createMetricsEndpoint(tell: () => Promise<readonly string[]>): MetricsEndpoint {
  return memoizeBriefly(() => tell().then(joined), probeMilliseconds)
}

/** Responds with all metrics. */
export async function answerMetrics(tell: MetricsEndpoint): Promise<TextResponse> {
  return { status: 200, headers: { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }, body: await tell() }
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
export function metricsListener(tell: MetricsEndpoint, limits: HttpLimits): NodeListener {
  const write = createResponseWriter()
  return async (request, response) => {
    const { headers, ...text } = requestProblem(request, limits) ?? (await answerTo(request, tell))
    const whole = new EncodedResponse({ ...text, headers: { ...headers, 'cache-control': 'no-store' } })
    await write(response, await negotiate(request, whole, []), senderOf(request, 0))
  }
}

async function answerTo({ path, method }: IncomingRequest, tell: MetricsEndpoint): Promise<TextResponse> {
  if (path === metricsPath) return answerReadOnly(method, () => answerMetrics(tell))
  return problem('PATH_NOT_FOUND', `${path} is not ${metricsPath}, which is all there is on this port`)
}
