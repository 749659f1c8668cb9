import { onlyRead } from '../../rest/handler.ts'
import { problem } from '../../rest/problem.ts'
import { CachedResponse } from '../cache/cached-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Answer } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { answerMetrics, type MetricsEndpoint } from './metrics-endpoint.ts'
import { isProbe, metricsPath } from './probe-paths.ts'

/** Checks whether the gateway can serve requests. */
export interface Readiness {
  /** Returns why it cannot serve; null if it can. */
  reason(): Promise<string | null>
  /** Returns the age of the data; without it, the age is not reported. */
  age?(): DataAge
}

/** Age of the served data, and the causes of its growth, in words. */
export interface DataAge {
  /**
   * Seconds since this process last verified that it had received every commit notification; null before the first
   * time.
   */
  readonly dataAgeSeconds: number | null
  /** Seconds since the newest fact, by its own time; null if no fact is known. */
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

/**
 * Creates the probes.
 * @param metrics null if metrics are disabled or have a port of their own
 */
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

/** Returns a sentence about the age of the data; empty if it is unknown or zero. */
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
