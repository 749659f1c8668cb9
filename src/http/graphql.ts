import type { DocumentNode } from 'graphql'
import type { YogaServerOptions } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { defaultQueryBounds, keptDocuments, type QueryBounds, turnBounds } from '../bounds.ts'
import type { Context, ContextOf, Making } from '../graphql/context.ts'
import { createExecutor } from '../graphql/execute.ts'
import { schema } from '../graphql/schema.ts'
import type { Turns } from '../graphql/turns.ts'
import type { Answer, Inbound } from './exchange.ts'
import { exampleAddress, graphiqlOptions } from './graphiql.ts'
import { bounded, readable, sameWayOut, type ServerContext } from './graphql-plugins.ts'

export const graphqlPath = '/graphql'

/** Whatever the gateway is called: only the path and the query matter. */
const origin = 'http://gateway'

/** What OPTIONS, and so a preflight, is answered. */
export const preflightAnswer: Answer = { status: 204, headers: { allow: 'GET, POST, OPTIONS' }, body: '' }

export interface GraphqlOptions {
  readonly contextOf: ContextOf
  readonly turns: Turns
  /** Whether anybody may see the data: GraphiQL's page, which is open to all, shows an address only then. */
  readonly isOpen: boolean
  readonly queryBounds?: QueryBounds | undefined
}

/** Answers a request to `/graphql`. */
export type AnswerGraphql = (request: Inbound, body: Buffer<ArrayBuffer>, making: Making) => Promise<Answer>

/** GraphQL over HTTP, and GraphiQL for browsers. */
export function createGraphql({ contextOf, turns, isOpen, queryBounds }: GraphqlOptions): AnswerGraphql {
  const executeDocument = createExecutor(contextOf)
  const documents = textCache<DocumentNode>()
  const options: YogaServerOptions<ServerContext, Context> = {
    schema,
    graphqlEndpoint: graphqlPath,
    context: ({ making }) => contextOf(making),
    // Each request masks its own, on their way out.
    maskedErrors: false,
    // Its page takes 70 MB of memory, which a gateway that nobody looks at needn't have.
    renderGraphiQL: async (options) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options),
    graphiql: async ({ url }, { making }) =>
      graphiqlOptions(new URL(url), isOpen ? await exampleAddress(executeDocument, making) : null),
    landingPage: false,
    // Cross-origin headers are those of every answer, and logging is the gateway's.
    cors: false,
    logging: false,
    // Nothing is uploaded.
    multipart: false,
    // Its own caches are bound loosely: strangers' documents would take hundreds of megabytes.
    parserAndValidationCache: { documentCache: documents, errorCache: textCache<object>() },
    plugins: [readable, bounded(queryBounds ?? defaultQueryBounds, turns), sameWayOut],
  }
  // Loading it takes longer than all else of a start: what has no need of it is answered before.
  const loading = import('graphql-yoga').then(({ createYoga }) => createYoga(options))
  return async ({ method, target, query, headers }, body, making) => {
    const isRead = method === 'GET' || method === 'HEAD'
    // fetch can't say TRACE, which is refused as DELETE is.
    const said = method === 'TRACE' ? 'DELETE' : method
    const request = new Request(origin + target, { method: said, headers: headers(), ...(isRead ? {} : { body }) })
    const answer = async (hasTurn: boolean): Promise<Answer> => {
      const yoga = await loading
      const response = await yoga.fetch(request, { making, hasTurn })
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    }
    // To validate what was never asked can take as long as to run a dear query.
    const text = query.get('query') ?? queryOf(body)
    const isNew = text !== '' && !documents.has(text)
    return isNew ? turns.dear(turnBounds.most, making.signal, () => answer(true)) : answer(false)
  }
}

function textCache<Value extends object>(): LRUCache<string, Value> {
  const { most, textBytes } = keptDocuments
  return new LRUCache<string, Value>({ max: most, maxSize: textBytes, sizeCalculation: (_, text) => text.length + 1 })
}

/** The document of a body; empty where it has none. */
function queryOf(body: Buffer): string {
  try {
    const { query } = JSON.parse(body.toString()) as { query?: unknown }
    return typeof query === 'string' ? query : ''
  } catch {
    return ''
  }
}
