import type { TypedDocumentString } from '../documents.generated.ts'
import type { QueryClient, QueryResult } from './gateway-client.ts'
import { RetryTimer } from './retry-timer.ts'

/** A query that runs again when the data has changed, and after a temporary failure. */
export interface LiveQuery {
  /** Runs the query again: immediately, when the run in progress has ended, or when Retry-After permits it. */
  refresh(): void
  close(): void
}

/** Runs a query, one run at a time, so that frequent changes cannot abort every run before its result. */
export function openLiveQuery<Data, Variables>(
  client: QueryClient,
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  onResult: (result: QueryResult<Data>) => void,
): LiveQuery {
  let stop: (() => void) | null = null
  let isOutdated = false
  const run = (): void => {
    isOutdated = false
    retries.cancel()
    stop = client.query(document, variables, (result) => {
      stop = null
      retries.ended(result.error)
      onResult(result)
      if (isOutdated && !retries.isRefused) run()
    })
  }
  const retries = new RetryTimer(run)
  run()
  return {
    refresh: () => {
      if (stop !== null) isOutdated = true
      else if (!retries.isRefused) run()
    },
    close: () => {
      isOutdated = false
      retries.cancel()
      stop?.()
    },
  }
}

/** Throttles a function: passes on the first call immediately, further calls as one at the end of the interval. */
export function atMostEvery(milliseconds: number, call: () => void): { (): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isPending = false
  const fire = (): void => {
    isPending = false
    call()
    timer = setTimeout(() => {
      timer = undefined
      if (isPending) fire()
    }, milliseconds)
  }
  const limited = (): void => (timer === undefined ? fire() : void (isPending = true))
  return Object.assign(limited, { cancel: () => clearTimeout(timer) })
}
