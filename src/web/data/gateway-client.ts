import { Client, type CombinedError, fetchExchange, subscriptionExchange } from '@urql/core'
import { createClient, type Sink } from 'graphql-sse'
import type { TypedDocumentString } from '../documents.generated.ts'
import { withExactTexts } from './exact-texts.ts'

/** The result of a query: data or an error. */
export interface QueryResult<Data> {
  readonly data: Data | undefined
  readonly error: CombinedError | undefined
}

/** The client of the gateway's GraphQL. A query and a subscription return a function that ends the request. */
export interface GatewayClient {
  query<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    onResult: (result: QueryResult<Data>) => void,
  ): () => void
  /** Calls `onEvent` immediately and on each change, also after a reconnection. */
  subscribe<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    onEvent: () => void,
  ): () => void
  /** Returns whether a subscription is connected: from its first event until its connection is lost or refused. */
  isStreaming(): boolean
}

/** Maximum time between two attempts to connect a stream. */
const maxWaitMilliseconds = 10_000

/**
 * Creates a client of the gateway that serves the page.
 * @param apiKey sent with each request; stored in memory only
 */
export function createGatewayClient(apiKey: string | null): GatewayClient {
  const headers: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }
  let isStreaming = false
  const streams = createClient({
    url: 'graphql',
    headers,
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
    fetch: async (input, init) => withExactTexts(await fetch(input, init)),
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
  return {
    query(document, variables, onResult) {
      const results = client.query<never>(document.toString(), variables as never)
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
    isStreaming: () => isStreaming,
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

/** Returns whether a request was refused because it lacks a valid API key. */
export function lacksApiKey(error: CombinedError | undefined): boolean {
  return error?.graphQLErrors.some(({ extensions }) => extensions['code'] === 'UNAUTHENTICATED') === true
}

/** Returns the reason why a query has no result, as text. */
export function queryProblem(error: CombinedError): string {
  if (error.networkError !== undefined) return 'The gateway does not answer.'
  return error.graphQLErrors[0]?.message ?? error.message
}
