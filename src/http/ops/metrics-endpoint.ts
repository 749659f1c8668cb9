import { Registry } from 'prom-client'
import { probeMilliseconds } from '../../limits.ts'
import type { Answer } from '../../rest/problem.ts'
import { memoizeBriefly } from '../async/memoize-briefly.ts'

/** All metrics in Prometheus' text format. It never fails, and takes a bounded time. */
export type MetricsEndpoint = () => Promise<string>

/** Joins what several registries tell, once in a second for all who ask: anybody may, as often as they like. */
export function createMetricsEndpoint(tell: () => Promise<readonly string[]>): MetricsEndpoint {
  return memoizeBriefly(() => tell().then(joined), probeMilliseconds)
}

export async function answerMetrics(tell: MetricsEndpoint): Promise<Answer> {
  return { status: 200, headers: { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }, body: await tell() }
}

/** A metric stands once, with the samples of all that tell of it: Prometheus takes it no other way. */
export function joined(texts: readonly string[]): string {
  const samplesOf = new Map<string, string[]>()
  for (const metric of texts.flatMap((text) => text.trimEnd().split('\n\n'))) {
    const lines = metric.split('\n')
    const head = lines.slice(0, 2).join('\n')
    samplesOf.set(head, [...(samplesOf.get(head) ?? []), ...lines.slice(2)])
  }
  return Array.from(samplesOf, ([head, samples]) => `${[head, ...samples].join('\n')}\n`).join('\n')
}
