import { randomUUID } from 'node:crypto'
import type { ReportUnplanned } from '../../graphql/execution/errors.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { routeLabel } from '../route-label.ts'

/** What a log says of a request: the route stands for the target, which may hold what is nobody's business. */
export interface AnsweredRequest {
  readonly requestId: string
  readonly method: string
  readonly route: string
  /** Null where the client went before its answer. */
  readonly status: number | null
  readonly milliseconds: number
}

export interface TracingOptions {
  /** Is told of each error that nobody planned for, once a request. */
  readonly report: (error: unknown, requestId: string) => void
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined
}

/** One request, from its first byte known to its last byte sent. */
export interface Trace {
  readonly id: string
  readonly report: ReportUnplanned
  end(status: number | null): void
}

/** Begins to trace a request. */
export type Tracing = (request: IncomingRequest) => Trace

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

/** The sender's own, where it can stand in a log as it is; so a request is followed through several services. */
function idOf(request: IncomingRequest): string {
  const given = request.header('x-request-id')
  return given !== null && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}
