import { Registry } from 'prom-client'
import type { Answer } from './exchange.ts'

export const metricsPath = '/metrics'

/** All metrics in Prometheus' text format. It never fails, and takes a bounded time. */
export type Exposition = () => Promise<string>

/** Joins what several registries tell, once for all who ask at the same time: anybody may, as often as they like. */
export function exposition(tell: () => Promise<readonly string[]>): Exposition {
  let telling: Promise<string> | undefined
  return () =>
    (telling ??= tell()
      .then(joined)
      .finally(() => (telling = undefined)))
}

export async function answerMetrics(tell: Exposition): Promise<Answer> {
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
