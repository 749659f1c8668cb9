import type { DocumentNode } from 'graphql'
import type { YogaServerOptions } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { admissionLimits, defaultQueryLimits, keptDocuments, type QueryLimits, tokenCost } from '../../limits.ts'
import type { AdmissionControl } from '../../graphql/execution/admission-control.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { InOneMoment } from '../../graphql/execution/snapshot-consistency.ts'
import { createExecutor } from '../../graphql/execution/executor.ts'
import { schema } from '../../graphql/schema/schema.ts'
import { countTokens } from '../../graphql/execution/count-tokens.ts'
import { inOrderOfQuality, prefersHtml } from '../middleware/content-negotiation.ts'
import { boundedExecution } from './bounded-execution.ts'
import type { Answer, IncomingRequest } from '../request-context.ts'
import { askedIn, createFastLane } from './fast-lane.ts'
import { exampleAddress, graphiqlOptions, graphiqlPage } from './graphiql.ts'
import { bounded, boundedValidation, readable, sameWayOut, type ServerContext } from './plugins.ts'
import { graphqlPath } from './path.ts'
import { graphqlMethods, inWords, methodRefused } from './refusals.ts'

/** Whatever the gateway is called: only the path and the query matter. */
const origin = 'http://gateway'

/** What OPTIONS, and so a preflight, is answered. */
export const preflightAnswer: Answer = { status: 204, headers: { allow: graphqlMethods }, body: '' }

export interface GraphqlOptions {
  readonly inOneMoment: InOneMoment
  readonly admission: AdmissionControl
  /** Whether anybody may see the data: GraphiQL's page, which is open to all, shows an address only then. */
  readonly isOpen: boolean
  readonly queryBounds?: QueryLimits | undefined
}

/** Answers a request to `/graphql`. */
export type AnswerGraphql = (
  request: IncomingRequest,
  body: Buffer<ArrayBuffer>,
  making: RequestContext,
) => Promise<Answer>

/** GraphQL over HTTP, and GraphiQL for browsers. */
export function createGraphql({ inOneMoment, admission, isOpen, ...options }: GraphqlOptions): AnswerGraphql {
  const { queryBounds = defaultQueryLimits } = options
  const execution = boundedExecution(queryBounds, { inOneMoment, admission })
  const executeDocument = createExecutor({ inOneMoment, admission })
  const documents = textCache<DocumentNode>()
  const valid = new WeakSet<DocumentNode>()
  const ofYoga: YogaServerOptions<ServerContext, object> = {
    schema,
    graphqlEndpoint: graphqlPath,
    // Each request masks its own, on their way out.
    maskedErrors: false,
    // Its page is 9 MB, for each request anew.
    graphiql: false,
    landingPage: false,
    // Cross-origin headers are those of every answer, and logging is the gateway's.
    cors: false,
    logging: false,
    // Nothing is uploaded.
    multipart: false,
    // Its own caches are bound loosely: strangers' documents would take hundreds of megabytes.
    parserAndValidationCache: { documentCache: documents, errorCache: textCache<object>() },
    plugins: [readable, boundedValidation(queryBounds), bounded(queryBounds, execution, valid), sameWayOut],
  }
  // Loading it takes longer than all else of a start: what has no need of it is answered before.
  const loading = import('graphql-yoga').then(({ createYoga }) => createYoga(ofYoga))
  const lane = createFastLane({ execution, documents, valid })

  async function askYoga(
    request: IncomingRequest,
    body: Buffer<ArrayBuffer>,
    making: RequestContext,
    onPrepared?: () => void,
  ): Promise<Answer> {
    const yoga = await loading
    const result = { isWhole: false }
    const onWhole = (): void => void (result.isWhole = true)
    const response = await yoga.fetch(fetched(request, body), { making, onWhole, ...(onPrepared && { onPrepared }) })
    const headers = Object.fromEntries(response.headers)
    const answer = { status: response.status, headers, body: await response.text() }
    if (result.isWhole && answer.status === 200) lane.learn(request, answer)
    return inWords(answer)
  }

  async function askedPage(request: IncomingRequest, making: RequestContext): Promise<Answer> {
    const address = isOpen ? await exampleAddress(executeDocument, making) : null
    return graphiqlPage(graphiqlOptions(request.query, address))
  }

  /** Has a document that was never asked before prepared when it is admitted by its length, and run by its cost. */
  async function askPrepared(
    request: IncomingRequest,
    body: Buffer<ArrayBuffer>,
    making: RequestContext,
    tokens: number,
  ) {
    const ticket = { cost: tokens * tokenCost, sender: making.sender, signal: making.signal }
    let answer: Promise<Answer> | undefined
    const preparing = (): Promise<void> =>
      new Promise((prepared) => {
        answer = askYoga(request, body, making, prepared)
        answer.catch(() => undefined).finally(prepared)
      })
    if (ticket.cost > admissionLimits.cheapCost) await admission.expensive(preparing, ticket)
    else await admission.cheap(preparing, ticket)
    return answer as Promise<Answer>
  }

  /** Tokens of a query, or of as much of it as is parsed. */
  function tokensOf(query: string): number {
    return Buffer.byteLength(query) > queryBounds.bytes ? 0 : Math.min(countTokens(query), queryBounds.tokens)
  }

  return async (request, body, making) => {
    const isPost = request.method === 'POST'
    if (!isPost && request.method !== 'GET') return methodRefused(request.method)
    if (!isPost && prefersHtml(request.header('accept'))) return askedPage(request, making)
    const asked = isPost ? askedIn(body) : null
    const known = asked && (await lane.answer(request, asked, making))
    if (known !== null) return known
    const query = isPost ? asked?.query : request.query.get('query')
    if (query == null) {
      // It may be in a form, where each token takes a byte at least.
      const tokens = Math.min(body.length, queryBounds.tokens)
      return isPost ? askPrepared(request, body, making, tokens) : askYoga(request, body, making)
    }
    return documents.has(query) ? askYoga(request, body, making) : askPrepared(request, body, making, tokensOf(query))
  }
}

function fetched(inbound: IncomingRequest, body: Buffer<ArrayBuffer>): Request {
  const { method, target } = inbound
  const accept = inbound.header('accept')
  // Yoga takes the first type that it has, whatever its quality.
  const headers = { ...inbound.headers(), ...(accept === null ? {} : { accept: inOrderOfQuality(accept) }) }
  return new Request(origin + target, { method, headers, ...(method === 'GET' ? {} : { body }) })
}

function textCache<Value extends object>(): LRUCache<string, Value> {
  const { most, textBytes } = keptDocuments
  return new LRUCache<string, Value>({ max: most, maxSize: textBytes, sizeCalculation: (_, text) => text.length + 1 })
}
