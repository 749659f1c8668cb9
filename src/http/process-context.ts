import type { RequestContext } from '../graphql/execution/context.ts'

/** Logs an unexpected error. `requestId` is that of {@link processContext} if the work that failed was for many requests. */
export type ReportError = (error: unknown, requestId: string) => void

/**
 * Creates the context of work that the process does for many requests, such as evaluations for streams.
 * @param name its client in admission control, where all such work together has the share of one client, and its request
 *   id, in the log and in responses
 */
export function processContext(name: string, report: ReportError): RequestContext {
  return {
    sender: name,
    report: (error) => {
      report(error, name)
      return name
    },
  }
}
