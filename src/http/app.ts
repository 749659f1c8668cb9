import { createAdmissionControl } from '../graphql/execution/admission/admission-control.ts'
import { type ConsistentDatabase, createConsistentReads } from '../graphql/execution/consistent-reads.ts'
import type { ExecutionObserver, FeedProblems } from '../graphql/execution/context.ts'
import { masked } from '../graphql/execution/errors.ts'
import { createExecutor } from '../graphql/execution/executor.ts'
import type { LedgerLog } from '../graphql/ledger-log.ts'
import { schema } from '../graphql/schema/schema.ts'
import { admissionLimits, defaultHttpLimits, defaultQueryLimits, type HttpLimits, type QueryLimits } from '../limits.ts'
import { connectionLimits } from '../limits/connections.ts'
import { createRest } from '../rest/handler.ts'
import { Problem } from '../rest/problem.ts'
import { Turns } from './async/turns.ts'
import { DataVersions, type VersionAt } from './cache/data-versions.ts'
import { createEdgePolicy } from './cache/edge.ts'
import { type HeaderList, headerList, negotiate, type OutgoingResponse } from './cache/encoded-response.ts'
import { createResponseCache, type ResponseCache } from './cache/response-cache.ts'
import { answerThroughCache } from './cache/through-cache.ts'
import { createExampleAddress } from './graphql/example-address.ts'
import { graphiqlPages } from './graphql/graphiql.ts'
import { createGraphql, type GraphqlPlugin } from './graphql/handler.ts'
import { preflight } from './graphql/preflight.ts'
import { graphqlPath } from './graphql/path.ts'
import { type KnownOperations, createFindDocument } from './graphql/persisted-operations.ts'
import { createLive, type Live, type LiveOptions } from './live/live.ts'
import { StreamedResponse } from './live/delivery/streamed-response.ts'
import { compose, type Exchange, type Handler, type HandlerResponse, type HandlersByPath } from './middleware.ts'
import type { PathStages } from './middleware.ts'
import { apiKey } from './middleware/api-key.ts'
import { prefersCsv } from './middleware/content-negotiation.ts'
import { corsHeaders } from './middleware/cors.ts'
import { minDataVersion, minDataVersionHeader, createAwaitVersion } from './middleware/min-data-version.ts'
import { type RateLimit, rateLimit } from './middleware/rate-limit.ts'
import { requestBody, requestChecks } from './middleware/request-checks.ts'
import { type AnsweredRequest, createTracing } from './middleware/tracing.ts'
import { probes, type Readiness } from './ops/health.ts'
import type { MetricsEndpoint } from './ops/metrics-endpoint.ts'
import { ownPaths } from './ops/own-paths.ts'
import { createPages } from './pages/pages.ts'
import type { PageFolders } from './pages/static-content.ts'
import { createProduce, type Respond } from './produce.ts'
import { refuse } from './refuse.ts'
import { createProcessCapacity } from './server/capacity/process-capacity.ts'
import { fetchAdapter } from './server/fetch-adapter.ts'
import { type AdapterOptions, nodeAdapter, type NodeListener } from './server/node-adapter.ts'
import type { ReportError } from './process-context.ts'

/** The gateway, through the Fetch API and through node:http, and its streams, which must be notified of commits. */
export interface App {
  readonly fetch: (request: Request) => Promise<Response>
  readonly listener: NodeListener
  readonly live: Omit<Live, 'stages'>
}

/** Observes the requests and streams of a gateway, for logs and metrics. */
export interface AppObserver extends ExecutionObserver {
  /** Each is called for each answered request. */
  readonly onAnswered?: readonly ((answered: AnsweredRequest) => void)[]
  readonly live?: LiveOptions['observer']
}

export interface AppOptions {
  readonly database: ConsistentDatabase
  /** Accepted API keys; an empty list admits every request. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** Number of proxies in front of the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
  /** Seconds for which edges, the caches between gateway and clients, may serve stored responses; 0 disables this. */
  readonly edgeSeconds?: number
  readonly limits?: HttpLimits
  readonly liveLimits?: LiveOptions['limits']
  readonly queryLimits?: QueryLimits
  /** Response cache; without one, no response is cached. */
  readonly cache?: ResponseCache
  /** Data version that the process was last notified of; without it, no version is known. */
  readonly versions?: DataVersions
  /** Looks up older versions in the database; without it, only notified versions are known. */
  readonly versionAt?: VersionAt
  /** Reads ledger rows in the order of commits; without it, they are not streamed. */
  readonly ledgerLog?: LedgerLog
  /** Returns the problems of the feeds that this gateway follows; without it there are none. */
  readonly feeds?: () => FeedProblems
  /** Computes the response of `/ready`; without it, 200. */
  readonly readiness?: Readiness
  /** Serves `/metrics`; without it the path does not exist. */
  readonly metrics?: MetricsEndpoint | null
  /** Without the explorer's, browsers get a page of links at `/`. */
  readonly pageFolders?: PageFolders | undefined
  /** Operations that clients may send by id alone; others are registered by requests that send text and hash. */
  readonly persistedOperations?: KnownOperations | undefined
  /**
   * Additional Yoga plugins. Their hooks from onParams to onExecutionResult run for each GraphQL request that is not
   * served from the response cache. Their Request and Response hooks do not run for a POST with a JSON body, for which
   * neither object is created.
   */
  readonly plugins?: readonly GraphqlPlugin[]
  /** Called for each unexpected error, once per request. */
  readonly report: ReportError
  readonly observer?: AppObserver
}

/** Composes the gateway: middleware in the order it runs, then the response cache, then GraphQL or REST. */
export function createApp({ database, apiKeys, trustedProxies, ...options }: AppOptions): App {
  const { limits = defaultHttpLimits, queryLimits = defaultQueryLimits, plugins = [] } = options
  const {
    cache = createResponseCache(0),
    versions = new DataVersions(),
    versionAt = noVersion,
    report,
    observer,
  } = options
  const admission = createAdmissionControl(admissionLimits)
  const runConsistently = createConsistentReads(database, options)
  const executor = createExecutor({ schema, limits: queryLimits, admission, runConsistently, observer })
  const isOpen = apiKeys.length === 0
  const findDocument = createFindDocument(queryLimits.bytes, options.persistedOperations)
  const graphql = createGraphql({ executor, schema, admission, plugins, findDocument })
  const capacity = createProcessCapacity(limits)
  const turns = new Turns(connectionLimits.iterationMilliseconds)

  const answerRest = createRest(executor, { cacheScope: isOpen ? 'public' : 'private', prefersCsv })
  const addressNow = createExampleAddress({ executor, isOpen, report })
  const { root, pages } = createPages(options.pageFolders ?? noPages, { isOpen, addressNow })
  const awaitVersion = createAwaitVersion(versions, versionAt, (error) => report(error, minDataVersionHeader), turns)
  const produce = createProduce(limits, capacity, versions, createEdgePolicy(options.edgeSeconds ?? 0, isOpen))
  const live = createLive({
    limits: options.liveLimits,
    observer: observer?.live,
    cache,
    versions,
    executor,
    admission,
    produce,
    answerRest,
    awaitVersion,
    findDocument,
    report,
    ledgerLog: options.ledgerLog ?? null,
  })
  const throughCache = (respond: Respond): Handler => answerThroughCache({ cache, versions, produce, respond })
  const graphqlRequests: PathStages = new Map([[graphqlPath, () => throughCache(graphql)]])
  const limitRate = rateLimit(options.rateLimit)
  const stages = [
    requestChecks(limits),
    ownPaths(probes(options.readiness, options.metrics)),
    ownPaths(root),
    apiKey(apiKeys, new Set(pages.keys()), limitRate),
    limitRate,
    preflight(),
    graphiqlPages(addressNow),
    requestBody(limits),
    ownPaths(pages),
    minDataVersion(awaitVersion),
    live.stages,
    graphqlRequests,
  ]
  const handle = createHandle(compose(stages, throughCache(answerRest)), versions)
  const startTrace = createTracing(report, observer?.onAnswered)
  const adapter = { limits, capacity, turns, startTrace, handle, trustedProxies }
  return { fetch: fetchAdapter(adapter), listener: nodeAdapter(adapter), live }
}

/** Creates the handler of all exchanges: the stages of their path, then the headers of the exchange. */
function createHandle(handlers: HandlersByPath, versions: DataVersions): AdapterOptions['handle'] {
  /** Answers an exchange; an error of a stage is reported, and answered by 500 with the request id of its log entry. */
  function handle(exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse> {
    const failed = (error: unknown): ReturnType<typeof handle> => {
      const refusal = new Problem('INTERNAL', masked(exchange.trace.report(error)))
      return toOutgoing(exchange, refuse(exchange.request, refusal))
    }
    try {
      const response = (handlers.byPath.get(exchange.request.path) ?? handlers.others)(exchange)
      const outgoing =
        response instanceof Promise
          ? response.then((late) => toOutgoing(exchange, late))
          : toOutgoing(exchange, response)
      return outgoing instanceof Promise ? outgoing.catch(failed) : outgoing
    } catch (error) {
      return failed(error)
    }
  }

  /** Adds the headers of this exchange, and encodes the response for its client. */
  function toOutgoing(exchange: Exchange, response: HandlerResponse): OutgoingResponse | Promise<OutgoingResponse> {
    if (response instanceof StreamedResponse) return toOutgoingStream(exchange, response, versions)
    const { request, trace, sender, senderHeaders, stateAtStart } = exchange
    const ofData = stateAtStart !== null && response.status === 200 ? stateAtStart.headers : corsHeaders(request.method)
    // The headers of a rate limit are about one sender: an edge would send them to all.
    const ofSender = response.isPublic ? noHeaders : senderHeaders
    return negotiate(request, response, ofData.concat(ofSender, 'x-request-id', trace.id), sender)
  }

  return handle
}

/** Adds the headers of an exchange to its stream, which the adapter opens; the stream of a HEAD request ends here. */
function toOutgoingStream(
  { request, trace, senderHeaders }: Exchange,
  stream: StreamedResponse,
  versions: DataVersions,
): OutgoingResponse {
  const own = versions.currentState().headers.concat(senderHeaders, 'x-request-id', trace.id)
  const head = { status: 200, headers: headerList(stream.headers).concat(own), bytes: null }
  if (request.method !== 'HEAD') return { ...head, stream: stream.open }
  stream.open(null)
  return head
}

const noHeaders: HeaderList = []
const noPages: PageFolders = { graphiql: null, explorer: null }
const noVersion: VersionAt = () => Promise.resolve(null)
