import type { Database } from '../../src/database/database.ts'
import { type App, type AppOptions, createApp } from '../../src/http/app.ts'
import { openapiViolations } from './openapi-conformance.ts'

const origin = 'http://gateway.test'

/** The application on a database, called in this process without a server. */
export interface TestGateway {
  readonly app: App
  /** Errors that were reported to the operator. */
  readonly reported: unknown[]
  /** Sends a request; throws if the response differs from /openapi.json. */
  get(path: string, init?: RequestInit): Promise<Response>
  /** Sends a GraphQL query, and returns its data; throws if there are errors. */
  query<Data>(source: string, variables?: Record<string, unknown>): Promise<Data>
  /** Sends a GraphQL query. */
  post(source: string, variables?: Record<string, unknown>): Promise<Response>
}

/** Creates a gateway on a database. */
export function gatewayOn(database: Database, options: Partial<AppOptions> = {}): TestGateway {
  const reported: unknown[] = []
  const report = (error: unknown): void => void reported.push(error)
  const app = createApp({ database, apiKeys: [], rateLimit: null, trustedProxies: 0, report, ...options })
  const post = (query: string, variables: Record<string, unknown> = {}): Promise<Response> =>
    app.fetch(
      new Request(`${origin}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
        body: JSON.stringify({ query, variables }),
      }),
    )
  return {
    app,
    reported,
    async get(path, init) {
      const request = new Request(origin + path, init)
      const response = await app.fetch(request)
      const violations = await openapiViolations(request, response)
      if (violations.length > 0) throw new Error(`${path} differs from /openapi.json: ${violations.join('; ')}`)
      return response
    },
    post,
    async query(source, variables) {
      const { data, errors } = (await (await post(source, variables)).json()) as { data: never; errors?: unknown }
      if (errors !== undefined) throw new Error(JSON.stringify(errors))
      return data
    },
  }
}
