import { Registry } from 'prom-client'
import { probeMilliseconds } from '../../limits.ts'
import type { Answer } from '../../rest/problem.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'

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
export async function answerMetrics(tell: MetricsEndpoint): Promise<Answer> {
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
