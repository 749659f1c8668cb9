import { onlyRead } from '../../rest/handler.ts'
import { problem } from '../../rest/problem.ts'
import { CachedResponse } from '../cache/cached-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Answer } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { answerMetrics, type MetricsEndpoint } from './metrics-endpoint.ts'
import { isProbe, metricsPath } from './probe-paths.ts'

/** What the gateway asks, to tell whether it can serve. */
export interface Readiness {
  /** Why it can't; null where it can. */
  reason(): Promise<string | null>
  /** How old the data is; without it, that isn't told. */
  age?(): DataAge
}

/** How old the data is that is served, and why it grows older, in words. */
export interface DataAge {
  /** Since this process last knew that it had heard of every commit; null before the first time. */
  readonly dataAgeSeconds: number | null
  /** Since the newest fact, by its own time; null where none is known. */
  readonly newestFactAgeSeconds: number | null
  readonly causes: readonly string[]
}

const always: Readiness = { reason: () => Promise.resolve(null) }

/** Responds to `/health`, `/ready` and `/metrics`, which need no key and have no rate limit. */
export function probes(readiness: Readiness | undefined, metrics: MetricsEndpoint | null | undefined): Middleware {
  const probe = createProbes(readiness, metrics)
  return (exchange, next) =>
    isProbe(exchange.request) ? probe(exchange.request).then((answer) => new CachedResponse(answer)) : next(exchange)
}

/** @param metrics null where they have a port of their own, or none */
function createProbes(
  readiness: Readiness = always,
  metrics: MetricsEndpoint | null = null,
): (request: IncomingRequest) => Promise<Answer> {
  const ready = async (): Promise<Answer> => {
    const reason = await readiness.reason()
    const age = readiness.age?.()
    return reason === null ? told('ready', age) : problem('NOT_READY', `${reason}${inWords(age)}`)
  }
  const answers: Readonly<Record<string, () => Promise<Answer>>> = {
    '/ready': ready,
    '/health': () => Promise.resolve(told('alive')),
    ...(metrics === null ? {} : { [metricsPath]: () => answerMetrics(metrics) }),
  }
  return async ({ method, path }) => {
    const read = answers[path]
    if (read === undefined) return problem('PATH_NOT_FOUND', `${path} is not told here`)
    const answer = await onlyRead(method, read)
    return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-store' } }
  }
}

/** Nothing where it isn't known, or is no age. */
function inWords({ dataAgeSeconds = null }: Partial<DataAge> = {}): string {
  return dataAgeSeconds === null || dataAgeSeconds === 0 ? '' : ` What is known of the data is ${dataAgeSeconds} s old.`
}

function told(status: string, age?: DataAge): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ status, ...age }),
  }
}
