import { masked } from '../../graphql/execution/errors.ts'
import { problem } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'

/**
 * Reports errors of the stages below, and responds 500 with the request id that the log entry has. An error of a stage
 * above closes the connection.
 */
export function unexpectedErrors(): Middleware {
  return (next) => (exchange) => {
    const failed = (error: unknown) =>
      refuse(exchange.request, problem('INTERNAL', masked(exchange.trace.report(error))))
    try {
      const response = next(exchange)
      return response instanceof Promise ? response.catch(failed) : response
    } catch (error) {
      return failed(error)
    }
  }
}
