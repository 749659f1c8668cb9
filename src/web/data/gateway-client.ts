import { Client, type CombinedError, fetchExchange, subscriptionExchange } from '@urql/core'
import { createClient, type Sink } from 'graphql-sse'
import { DataStatusDocument, type DataStatusQuery, type TypedDocumentString } from '../documents.generated.ts'
import { withEventIds } from './event-ids.ts'
import { withExactTexts } from './exact-texts.ts'
import { SeenVersions } from './seen-versions.ts'

/** The result of a query: data or an error. */
export interface QueryResult<Data> {
  readonly data: Data | undefined
  readonly error: CombinedError | undefined
}

/** Runs queries. A query returns a function that ends the request. */
export interface QueryClient {
  query<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    onResult: (result: QueryResult<Data>) => void,
  ): () => void
}

/**
 * The client of the gateway's GraphQL. A poll and a subscription return a function that ends them. A query is not
 * answered by older data than an event or an answer before it, unless the gateway has lost its version.
 */
export interface GatewayClient extends QueryClient {
  /** Must be called when all queries whose results are shown are about to run again. */
  refreshed(): void
  /**
   * Reads the state of the gateway, of whatever version.
   * @param onResult its second argument tells whether all shown data must be read again, as some is of another history, or
   *   may be older than this state: while a stream is connected, at most once in 30 s
   */
  poll(onResult: (result: QueryResult<DataStatusQuery>, isOutdated: boolean) => void): () => void
  /** Calls `onEvent` immediately and on each change, also after a reconnection. */
  subscribe<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    onEvent: () => void,
  ): () => void
}

type Fetch = typeof fetch

/** Maximum time between two attempts to connect a stream. */
const maxWaitMilliseconds = 10_000
/** Minimum time between two refreshes for data that is merely older than a poll, while a stream tells of its changes. */
const olderRefreshMilliseconds = 30_000
/** Maximum time from a query or a poll to the end of its response: longer than the gateway's own deadline. */
const answerMilliseconds = 20_000

/**
 * Creates a client of the gateway that serves the page.
 * @param apiKey sent with each request; stored in memory only
 * @param timeoutMilliseconds after which a query or a poll without a complete response has failed
 */
export function createGatewayClient(apiKey: string | null, timeoutMilliseconds = answerMilliseconds): GatewayClient {
  const headers: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }
  const versions = new SeenVersions()
  let refreshedAt = -Infinity
  /** Whether a subscription is connected: from an event of it until its connection is lost, refused or ended. */
  let isStreaming = false
  const streams = createClient({
    url: 'graphql',
    headers,
    fetchFn: async (input: string, init: RequestInit) =>
      withEventIds(await fetch(input, init), (id) => versions.saw(id)),
    retryAttempts: Number.POSITIVE_INFINITY,
    retry: async (attempt) => {
      isStreaming = false
      const milliseconds = Math.min(maxWaitMilliseconds, 500 * 2 ** attempt) * (0.5 + Math.random())
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
    },
  })
  const client = new Client({
    url: 'graphql',
    preferGetMethod: false,
    fetchOptions: { headers },
    exchanges: [
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => {
            const run = { isOver: false }
            // The sink is also notified when this client ends a stream, when another one may have started.
            const lose = (): void => {
              if (!run.isOver) isStreaming = false
            }
            const request = { query, variables: variables as Record<string, unknown> }
            const end = streams.subscribe(request, endingWith(sink as Sink, lose))
            return {
              unsubscribe: () => {
                lose()
                run.isOver = true
                end()
              },
            }
          },
        }),
      }),
      fetchExchange,
    ],
  })

  const fetchAny: Fetch = async (input, init) => {
    const ending = new AbortController()
    const late = new DOMException('The gateway has not answered in time', 'TimeoutError')
    const timer = setTimeout(() => ending.abort(late), timeoutMilliseconds)
    const given = init?.signal
    given?.addEventListener('abort', () => ending.abort(given.reason), { once: true })
    if (given?.aborted === true) ending.abort(given.reason)
    try {
      return await withExactTexts(await fetch(input, { ...init, signal: ending.signal }))
    } finally {
      clearTimeout(timer)
    }
  }
  const fetchNewest: Fetch = async (input, init) => {
    const { newest } = versions
    const response = await fetchAny(input, newest === null ? init : demanding(newest, init))
    if (newest !== null && response.status === 409) {
      versions.lost(newest)
      return fetchNewest(input, init)
    }
    if (response.ok) versions.answered(response.headers.get('data-version'))
    return response
  }

  function run<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    fetch: Fetch,
    onResult: (result: QueryResult<Data>) => void,
  ): () => void {
    const results = client.query<never>(document.toString(), variables as never, { fetch })
    const run = { hasEnded: false, end: (): void => undefined }
    // An operation stays open for further results until it is ended, and would pass its last result to the next run.
    const subscription = results.subscribe(({ data, error }) => {
      run.hasEnded = true
      run.end()
      // After a failed field the gateway sends the remaining data, such as {"vault": null}, which is not a usable
      // result.
      onResult(error === undefined ? { data, error } : { data: undefined, error })
    })
    run.end = () => subscription.unsubscribe()
    if (run.hasEnded) run.end()
    return run.end
  }

  return {
    query: (document, variables, onResult) => run(document, variables, fetchNewest, onResult),
    refreshed: () => {
      versions.refreshed()
      refreshedAt = performance.now()
    },
    poll: (onResult) => {
      const { newest } = versions
      return run(DataStatusDocument, {}, fetchAny, (result) => {
        const freshness = result.data && versions.polled(result.data._meta.version, newest)
        const isDue = !isStreaming || performance.now() - refreshedAt >= olderRefreshMilliseconds
        onResult(result, freshness === 'replaced' || (freshness === 'older' && isDue))
      })
    },
    subscribe(document, variables, onEvent) {
      const results = client.subscription<object>(document.toString(), variables as never)
      const subscription = results.subscribe(({ data }) => {
        if (data === undefined) return
        isStreaming = true
        onEvent()
      })
      return () => subscription.unsubscribe()
    },
  }
}

/** Wraps a sink: calls a function before the sink is notified of an error or the end. */
function endingWith(sink: Sink, onEnd: () => void): Sink {
  return {
    next: (event) => sink.next(event),
    error: (error) => {
      onEnd()
      sink.error(error)
    },
    complete: () => {
      onEnd()
      sink.complete()
    },
  }
}

/** Returns a request for an answer that is not older than a version of the data. */
function demanding(version: string, init: RequestInit | undefined): RequestInit {
  const headers = new Headers(init?.headers)
  headers.set('min-data-version', version)
  return { ...init, headers }
}

/** Returns whether a request was refused because it lacks a valid API key. */
export function lacksApiKey(error: CombinedError | undefined): boolean {
  return error?.graphQLErrors.some(({ extensions }) => extensions['code'] === 'UNAUTHENTICATED') === true
}

/** Returns the reason why a query has no result, as text. */
export function queryProblem(error: CombinedError): string {
  if (error.networkError !== undefined) return 'The gateway does not answer.'
  return error.graphQLErrors[0]?.message ?? error.message
}
