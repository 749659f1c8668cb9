import { randomUUID } from 'node:crypto'
import type { ReportUnexpected } from '../../graphql/execution/errors.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { routeLabel } from '../route-label.ts'

/** Log record of a request: it has the route instead of the target, which may contain confidential data. */
export interface AnsweredRequest {
  readonly requestId: string
  readonly method: string
  readonly route: string
  /** HTTP status; null if the client disconnected before its response. */
  readonly status: number | null
  readonly milliseconds: number
}

export interface TracingOptions {
  /** Called for each unexpected error, once per request. */
  readonly report: (error: unknown, requestId: string) => void
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined
}

/** Trace of one request, from the receipt of its headers to the last byte of its response. */
export interface Trace {
  readonly id: string
  readonly report: ReportUnexpected
  end(status: number | null): void
}

/** Begins the trace of a request. */
export type Tracing = (request: IncomingRequest) => Trace

/** Creates the tracing of requests. */
export function createTracing({ report, onAnswered }: TracingOptions): Tracing {
  return (request) => {
    const id = idOf(request)
    const started = performance.now()
    let told: Set<unknown> | undefined
    return {
      id,
      report(error) {
        told ??= new Set()
        if (!told.has(error)) report(error, id)
        told.add(error)
        return id
      },
      end(status) {
        const milliseconds = Math.round((performance.now() - started) * 1000) / 1000
        onAnswered?.({ requestId: id, method: request.method, route: routeLabel(request.path), status, milliseconds })
      },
    }
  }
}

/**
 * Returns the request id of the client if it is safe in a log, so that a request can be followed through several
 * services; else a new one.
 */
function idOf(request: IncomingRequest): string {
  const given = request.header('x-request-id')
  return given !== null && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}
