import type { Database } from '../../src/database/database.ts'
import { type App, type AppOptions, createApp } from '../../src/http/app.ts'
import { flawsOf } from './contract.ts'

const origin = 'http://gateway.test'

/** The gateway over a database, asked by fetch, without a port. */
export interface TestGateway {
  readonly app: App
  /** Errors that were reported to the operator. */
  readonly reported: unknown[]
  /** Fails where the answer of a REST path isn't as /openapi.json says. */
  get(path: string, init?: RequestInit): Promise<Response>
  /** The data of a query; fails where there are errors. */
  query<Data>(source: string, variables?: Record<string, unknown>): Promise<Data>
  post(source: string, variables?: Record<string, unknown>): Promise<Response>
}

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
      const flaws = await flawsOf(request, response)
      if (flaws.length > 0) throw new Error(`${path} is not as /openapi.json says: ${flaws.join('; ')}`)
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
