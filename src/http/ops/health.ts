import { onlyRead } from '../../rest/handler.ts'
import { problem } from '../../rest/problem.ts'
import type { Answer, IncomingRequest } from '../request-context.ts'
import { answerMetrics, type MetricsEndpoint, metricsPath } from './metrics-endpoint.ts'

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

export const probePaths: readonly string[] = ['/health', '/ready', metricsPath]

const always: Readiness = { reason: () => Promise.resolve(null) }

/**
 * Answers `/health`, `/ready` and `/metrics`.
 * @param metrics none: they are told elsewhere, or nowhere
 */
export function createProbes(
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

export function isProbe({ path }: { readonly path: string }): boolean {
  return probePaths.includes(path)
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
