import type { TypedDocumentString } from '../documents.generated.ts'
import type { GatewayClient, QueryResult } from './gateway-client.ts'
import { RetryTimer } from './retry-timer.ts'

/** A query that runs again when the data has changed, and when it was refused for the time being. */
export interface LiveQuery {
  /** Runs it again: at once, or when the run in progress has ended. */
  refresh(): void
  close(): void
}

/** Runs a query, one run at a time: changes that come faster than results don't keep results from coming. */
export function openLiveQuery<Data, Variables>(
  client: GatewayClient,
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
      if (isOutdated) run()
    })
  }
  const retries = new RetryTimer(run)
  run()
  return {
    refresh: () => (stop === null ? run() : void (isOutdated = true)),
    close: () => {
      isOutdated = false
      retries.cancel()
      stop?.()
    },
  }
}

/**
 * Limits how often a function is called: the first call is passed on at once, those that follow within the interval as
 * one at its end.
 */
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

/**
 * Creates a function that is told each version of the data that is asked for, and whether a stream tells changes. It
 * returns true where the data may have changed without a stream that has told it: at the second of the first versions
 * without a stream, because data may be older than the first one, and then whenever the version is another one.
 */
export function missedChanges(): (version: string | null, isStreaming: boolean) => boolean {
  let seen: string | null | undefined
  // While the page is loaded, its stream is not open yet, and begins with an event.
  let isLoading = true
  return (version, isStreaming) => {
    const isMissed = !isStreaming && !isLoading && version !== seen
    seen = isStreaming || isLoading ? undefined : version
    isLoading = false
    return isMissed
  }
}
