import type { DocumentNode } from 'graphql'
import type { YogaServerOptions } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { defaultQueryBounds, keptDocuments, type QueryBounds, turnBounds } from '../bounds.ts'
import type { ContextOf, Making } from '../graphql/context.ts'
import { createExecutor } from '../graphql/execute.ts'
import { schema } from '../graphql/schema.ts'
import type { Turns } from '../graphql/turns.ts'
import { boundedExecution } from './bounded-execution.ts'
import type { Answer, Inbound } from './exchange.ts'
import { askedIn, createFastLane } from './fast-lane.ts'
import { exampleAddress, graphiqlOptions } from './graphiql.ts'
import { bounded, readable, sameWayOut, type ServerContext } from './graphql-plugins.ts'
import { graphqlMethods, inWords, methodRefused } from './graphql-refusals.ts'

export const graphqlPath = '/graphql'

/** Whatever the gateway is called: only the path and the query matter. */
const origin = 'http://gateway'

/** What OPTIONS, and so a preflight, is answered. */
export const preflightAnswer: Answer = { status: 204, headers: { allow: graphqlMethods }, body: '' }

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
export function createGraphql({ contextOf, turns, isOpen, ...options }: GraphqlOptions): AnswerGraphql {
  const { queryBounds = defaultQueryBounds } = options
  const execution = boundedExecution(queryBounds, { contextOf, turns })
  const executeDocument = createExecutor({ contextOf, turns })
  const documents = textCache<DocumentNode>()
  const valid = new WeakSet<DocumentNode>()
  const ofYoga: YogaServerOptions<ServerContext, object> = {
    schema,
    graphqlEndpoint: graphqlPath,
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
    plugins: [readable, bounded(queryBounds, execution, valid), sameWayOut],
  }
  // Loading it takes longer than all else of a start: what has no need of it is answered before.
  const loading = import('graphql-yoga').then(({ createYoga }) => createYoga(ofYoga))
  const lane = createFastLane({ execution, documents, valid })

  async function askYoga(
    request: Inbound,
    body: Buffer<ArrayBuffer>,
    making: Making,
    hasTurn: boolean,
  ): Promise<Answer> {
    const yoga = await loading
    const result = { isWhole: false }
    const onWhole = (): void => void (result.isWhole = true)
    const response = await yoga.fetch(fetched(request, body), { making, hasTurn, onWhole })
    const headers = Object.fromEntries(response.headers)
    const answer = { status: response.status, headers, body: await response.text() }
    if (result.isWhole && answer.status === 200) lane.learn(request, answer)
    return inWords(answer)
  }

  return async (request, body, making) => {
    const isPost = request.method === 'POST'
    if (!isPost && request.method !== 'GET') return methodRefused(request.method)
    const asked = isPost ? askedIn(body) : null
    const known = asked && (await lane.answer(request, asked, making))
    if (known !== null) return known
    // To validate what was never asked can take as long as to run a dear query.
    const text = isPost ? asked?.query : request.query.get('query')
    const isNew = text == null ? isPost : !documents.has(text)
    const work = (): Promise<Answer> => askYoga(request, body, making, isNew)
    return isNew ? turns.dear(work, { cost: turnBounds.most, signal: making.signal }) : work()
  }
}

function fetched(inbound: Inbound, body: Buffer<ArrayBuffer>): Request {
  const { method, target } = inbound
  return new Request(origin + target, { method, headers: inbound.headers(), ...(method === 'GET' ? {} : { body }) })
}

function textCache<Value extends object>(): LRUCache<string, Value> {
  const { most, textBytes } = keptDocuments
  return new LRUCache<string, Value>({ max: most, maxSize: textBytes, sizeCalculation: (_, text) => text.length + 1 })
}
