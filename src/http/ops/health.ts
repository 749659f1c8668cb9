import { answerReadOnly } from '../../rest/handler.ts'
import { Problem, problemResponse } from '../../rest/problem.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import { answerMetrics, encoderOfUnstored, type MetricsEndpoint } from './metrics-endpoint.ts'
import type { PathHandler } from './own-paths.ts'
import { metricsPath } from './probe-paths.ts'

/** Checks whether the gateway can serve requests. */
export interface Readiness {
  /** Returns why it cannot serve; null if it can. */
  reason(): Promise<string | null>
  /** Returns the reasons why it serves less than configured, as sentences; empty if it serves everything. */
  degradations?(): readonly string[]
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

/**
 * Creates the handlers of `/health`, `/ready` and `/metrics`, which need no key and have no rate limit.
 * @param metrics null if metrics are disabled or have a port of their own
 */
export function probes(
  readiness: Readiness = always,
  metrics: MetricsEndpoint | null = null,
): ReadonlyMap<string, PathHandler> {
  const ready = async (): Promise<TextResponse> => {
    const reason = await readiness.reason()
    const age = readiness.age?.()
    const reasons = readiness.degradations?.() ?? []
    if (reason === null && reasons.length > 0) return statusResponse('degraded', { reasons, ...age })
    if (reason === null) return statusResponse('ready', age)
    return problemResponse(new Problem('NOT_READY', `${reason}${ageSentence(age)}`))
  }
  const probe = (read: () => Promise<TextResponse>): PathHandler => {
    const encode = encoderOfUnstored()
    return async ({ method }) => encode(await answerReadOnly(method, read))
  }
  const elsewhere = new Problem('PATH_NOT_FOUND', 'Metrics are not served on this port')
  const noMetrics = new EncodedResponse(problemResponse(elsewhere))
  return new Map([
    ['/ready', probe(ready)],
    ['/health', probe(() => Promise.resolve(statusResponse('alive')))],
    [metricsPath, metrics === null ? () => noMetrics : probe(() => answerMetrics(metrics))],
  ])
}

/** Returns a sentence about the age of the data; empty if it is unknown or zero. */
function ageSentence({ dataAgeSeconds = null }: Partial<DataAge> = {}): string {
  return dataAgeSeconds === null || dataAgeSeconds === 0
    ? ''
    : ` The data was last known to be current ${dataAgeSeconds} s ago.`
}

function statusResponse(status: string, details?: object): TextResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ status, ...details }),
  }
}
