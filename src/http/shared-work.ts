import type { RequestContext } from '../graphql/execution/context.ts'

/** Logs an unexpected error. `requestId` is that of {@link sharedWork} if many requests share the work that failed. */
export type ReportError = (error: unknown, requestId: string) => void

/**
 * Creates the context of work that many requests share, such as evaluations for streams.
 * @param name its client in admission control, where all such work together has the share of one client, and its request
 *   id, in the log and in responses
 */
export function sharedWork(name: string, report: ReportError): RequestContext {
  return {
    sender: name,
    report: (error) => {
      report(error, name)
      return name
    },
  }
}
