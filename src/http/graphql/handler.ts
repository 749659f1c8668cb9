import type { GraphQLSchema } from 'graphql'
import type { Plugin, YogaServerOptions } from 'graphql-yoga'
import type { AdmissionControl } from '../../graphql/execution/admission/admission-control.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import { admissionLimits, preparationCosts } from '../../limits.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import type { Exchange } from '../middleware.ts'
import type { Respond } from '../produce.ts'
import { graphqlPath } from './path.ts'
import { executorPlugin, type YogaContext, resultPlugin, syntaxPlugin } from './plugins.ts'
import { isFormPost, parseJsonPost, runJsonPost } from './json-post.ts'
import { encodedProblem, queryStringProblem } from './encoded-parameters.ts'
import { acceptedMediaType, type MediaType } from './result-response.ts'
import type { FindDocument } from './persisted-operations.ts'
import { explained, malformedParameters, methodRefused, mutationByGet, notAcceptable } from './refusals.ts'

export type GraphqlPlugin = Plugin<YogaContext, YogaContext>

export interface GraphqlOptions {
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly admission: AdmissionControl
  /** Yoga plugins that run in addition to the gateway's own. */
  readonly plugins: readonly GraphqlPlugin[]
  readonly findDocument: FindDocument
}

/** Origin of the requests passed to Yoga, which uses only their path and query. */
const placeholderHost = 'http://gateway'

/** URL suffix of Yoga's health check, which cannot be turned off: no URL ends with a space. */
const noEndOfUrl = ' '

/** Headers of Yoga's responses that are sent; those of framing, such as Content-Length, are the gateway's own. */
const sentHeaders: ReadonlySet<string> = new Set(['content-type', 'retry-after'])

/** Creates the handler of /graphql: GraphQL over HTTP by Yoga. */
export function createGraphql(graphqlOptions: GraphqlOptions): Respond {
  const { schema, executor, admission, plugins, findDocument } = graphqlOptions
  const options: YogaServerOptions<YogaContext, object> = {
    schema,
    graphqlEndpoint: graphqlPath,
    plugins: [syntaxPlugin, ...plugins, executorPlugin(executor, findDocument), resultPlugin],
    // The executor has the only cache of documents.
    parserAndValidationCache: false,
    // `resultPlugin` masks errors of requests that Yoga reads, and `runJsonPost` those of a POST in JSON.
    maskedErrors: false,
    // Yoga would render its page of 9 MB for each request.
    graphiql: false,
    landingPage: false,
    // Middleware of all paths sets CORS headers, and logs requests.
    cors: false,
    logging: false,
    multipart: false,
    healthCheckEndpoint: noEndOfUrl,
  }
  // Loading Yoga takes longer than the rest of the start, so the port opens before it has finished.
  const loading = import('graphql-yoga').then(({ createYoga }) => {
    const yoga = createYoga(options)
    // Hooks expect a request: all POST requests in JSON share this one, because their parameters are parsed here.
    const jsonRequest = new yoga.fetchAPI.Request(placeholderHost + graphqlPath, { method: 'POST' })
    return { yoga, jsonRequest }
  })

  /** Answers by Yoga's hooks. A POST in JSON is parsed synchronously, at the call. */
  async function byYoga(
    { request, body }: Exchange,
    mediaType: MediaType,
    yogaContext: YogaContext,
  ): Promise<TextResponse> {
    const problem = isFormPost(request) ? encodedProblem(body.toString(), 'form') : null
    if (problem !== null) return malformedParameters(request, problem)
    const params = parseJsonPost(request, body)
    const { yoga, jsonRequest } = await loading
    if (params !== null) return runJsonPost(yoga, { params, mediaType }, jsonRequest, yogaContext)
    const { method, target } = request
    // Yoga would ignore weights, and send results as events or in parts to clients that accept these.
    const headers = { ...request.headerRecord(), accept: mediaType, ...withPlainCase(request.header('content-type')) }
    const init = { method, headers, ...(method === 'GET' ? {} : { body }) }
    const response = await yoga.fetch(new yoga.fetchAPI.Request(placeholderHost + target, init), yogaContext)
    // Yoga receives only GET and POST, of which it refuses a mutation by GET.
    if (response.status === 405) return mutationByGet(request)
    // Yoga's own Headers keep the case in which a name was set.
    const named = Array.from(response.headers, ([name, value]) => [name.toLowerCase(), value] as const)
    const sent = Object.fromEntries(named.filter(([name]) => sentHeaders.has(name)))
    return explained(request, { status: response.status, headers: sent, body: await response.text() })
  }

  /**
   * Parses and runs a request. A long body waits for admission, and counts there by its size until it is parsed: the executor's
   * plugin then calls `onParsed`. A request that is refused before that counts until it is answered.
   */
  async function parseAndRun(
    exchange: Exchange,
    mediaType: MediaType,
    requestContext: RequestContext,
  ): Promise<TextResponse> {
    const { sender, signal } = requestContext
    const cost = exchange.body.length * preparationCosts.bodyByte
    if (cost <= admissionLimits.shortPreparation) {
      return byYoga(exchange, mediaType, { requestContext, onParsed: () => undefined })
    }
    /** Resolves when the body is parsed. The response is in an object: a promise of a promise would wait for the response too. */
    const parse = async (): Promise<{ readonly response: Promise<TextResponse> }> => {
      let onParsed = (): void => undefined
      const parsed = new Promise<void>((resolve) => (onParsed = resolve))
      const response = byYoga(exchange, mediaType, { requestContext, onParsed })
      response.then(onParsed, onParsed)
      await parsed
      return { response }
    }
    const { response } = await admission.runPreparation(parse, { cost, sender, signal })
    return response
  }

  async function negotiated(exchange: Exchange, requestContext: RequestContext): Promise<TextResponse> {
    const { request } = exchange
    if (request.method !== 'GET' && request.method !== 'POST') return methodRefused(request)
    const problem = request.method === 'GET' ? queryStringProblem(request.target) : null
    if (problem !== null) return malformedParameters(request, problem)
    const mediaType = acceptedMediaType(request.header('accept'))
    return mediaType === null ? notAcceptable(request) : parseAndRun(exchange, mediaType, requestContext)
  }

  // The media type is negotiated, and a browser gets GraphiQL's page: caches must store the variants separately.
  return async (exchange, requestContext) => {
    const { headers, ...response } = await negotiated(exchange, requestContext)
    return { ...response, headers: { ...headers, vary: 'accept' } }
  }
}

/** Returns the header `Content-Type` with its media type in lower case: Yoga compares case, which is insignificant (RFC 9110, section 8.3.1). */
function withPlainCase(contentType: string | null): { readonly 'content-type'?: string } {
  if (contentType === null) return {}
  const [type = '', ...parameters] = contentType.split(';')
  return { 'content-type': [type.toLowerCase(), ...parameters].join(';') }
}
