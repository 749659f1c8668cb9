import { randomUUID } from 'node:crypto'
import type { ReportUnexpected } from '../../graphql/execution/context.ts'
import { findRoute } from '../../rest/handler.ts'
import { liveRoutes } from '../../rest/live-routes.ts'
import { graphqlPath } from '../graphql/path.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { probePaths } from '../ops/probe-paths.ts'
import type { ReportError } from '../process-context.ts'

/** Log record of a request: it has the route instead of the target, which may contain confidential data. */
export interface AnsweredRequest {
  readonly requestId: string
  readonly method: string
  readonly route: string
  /** HTTP status; null if the client disconnected before its response. */
  readonly status: number | null
  readonly milliseconds: number
}

/** Trace of one request, from the receipt of its headers to the last byte of its response. */
export interface Trace {
  readonly id: string
  readonly report: ReportUnexpected
  end(status: number | null): void
}

/** Starts the trace of a request. */
export type StartTrace = (request: IncomingRequest) => Trace

/**
 * Creates the tracing of requests. An id from the client is used if it is safe to log, so that a request can be traced
 * through several services; otherwise a new id is generated.
 * @param report called for each unexpected error, once per request
 * @param onAnswered each is called for each answered request
 */
export function createTracing(
  report: ReportError,
  onAnswered: readonly ((answered: AnsweredRequest) => void)[] = [],
): StartTrace {
  return (request) => {
    const given = request.header('x-request-id')
    const id = given !== null && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
    const started = performance.now()
    let reported: Set<unknown> | undefined
    return {
      id,
      report(error) {
        reported ??= new Set()
        if (!reported.has(error)) report(error, id)
        reported.add(error)
        return id
      },
      end(status) {
        const milliseconds = Math.round((performance.now() - started) * 1000) / 1000
        const route = routeLabel(request.path)
        const answered = { requestId: id, method: request.method, route, status, milliseconds }
        for (const observe of onAnswered) observe(answered)
      },
    }
  }
}

const fixedPaths: readonly string[] = [
  graphqlPath,
  ...liveRoutes.map(({ path }) => path),
  ...probePaths,
  '/',
  '/openapi.json',
  '/docs',
]

/** Returns the route that a path matches, such as `/vault/:address/snapshot`; `none` if it matches none. */
export function routeLabel(path: string): string {
  return fixedPaths.includes(path) ? path : (findRoute(path)?.route.path ?? 'none')
}
