import type { AdmissionControl } from '../../graphql/execution/admission/admission-control.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import type { LedgerLog } from '../../graphql/ledger-log.ts'
import { type LiveLimits, liveLimits } from '../../limits/live.ts'
import { liveEvents, liveVaults } from '../../rest/live-routes.ts'
import type { DataVersions } from '../cache/data-versions.ts'
import type { ResponseCache } from '../cache/response-cache.ts'
import { graphqlPath } from '../graphql/path.ts'
import type { FindDocument } from '../graphql/persisted-operations.ts'
import type { PathStages } from '../middleware.ts'
import type { AwaitVersion } from '../middleware/min-data-version.ts'
import type { Produce, ProducedExchange, Respond } from '../produce.ts'
import { connectionsWithin } from '../server/connection-counter.ts'
import { type ReportError, processContext } from '../process-context.ts'
import { createFanOut } from './delivery/fan-out.ts'
import { LiveConnections, type LiveObserver } from './delivery/live-connections.ts'
import { createEvaluate } from './responses/evaluation/evaluate.ts'
import { SharedResponses } from './responses/shared-responses.ts'
import type { StateStreamParts } from './responses/state-stream.ts'
import { createLedgerStreams } from './ledger/ledger-stream.ts'
import { LedgerTail } from './ledger/ledger-tail.ts'
import { restLedgerStream } from './ledger/rest-ledger-stream.ts'
import { graphqlStream } from './operations/graphql-stream.ts'
import { createLiveOperations } from './operations/live-operations.ts'
import { Resumptions } from './resumption.ts'
import { vaultStream } from './vault-stream.ts'

export interface LiveOptions {
  /** Limits that differ from the default ones; `connections` can only be smaller, since the server has room for no more. */
  readonly limits?: Partial<LiveLimits> | undefined
  readonly observer?: LiveObserver | undefined
  readonly executor: Executor
  readonly admission: AdmissionControl
  readonly cache: ResponseCache
  readonly versions: DataVersions
  /** Produces a response within the limits that apply to all responses. */
  readonly produce: Produce
  /** Answers a request for a snapshot. */
  readonly answerRest: Respond<ProducedExchange>
  readonly awaitVersion: AwaitVersion
  readonly findDocument: FindDocument
  /** Reads ledger rows in the order of commits; null if they are not streamed. */
  readonly ledgerLog: LedgerLog | null
  readonly report: ReportError
}

/** The streams of a process. */
export interface Live {
  /** Stages that start streams; other requests pass through. */
  readonly stages: PathStages
  /** Notifies the streams of a commit, after the response cache and the data versions were notified. */
  committed(commit: { readonly tags: readonly string[] | null }): void
  /** Sets whether commit notifications arrive. */
  listening(isListening: boolean): void
  /** Ends all streams, because the process stops. */
  endAll(): void
}

const noObserver: LiveObserver = {
  onStreams: () => undefined,
  onStreamClosed: () => undefined,
  onStreamRefused: () => undefined,
  onEvaluation: () => undefined,
  onDelivery: () => undefined,
}

const noLedger: LedgerLog = {
  end: () => Promise.reject(new Error('Ledger rows are not streamed here.')),
  after: () => Promise.reject(new Error('Ledger rows are not streamed here.')),
}

/** Creates the streams of server-sent events: their stages, and the functions that notify them. */
export function createLive(options: LiveOptions): Live {
  const {
    executor,
    cache,
    versions,
    produce,
    answerRest,
    awaitVersion,
    findDocument,
    admission,
    observer = noObserver,
  } = options
  const limits = { ...liveLimits, ...options.limits }
  const streamsContext = processContext('live', options.report)
  const { onEvaluation, onDelivery } = observer
  const fanOut = createFanOut(limits.slice, limits.sliceMilliseconds)
  // Streams leave a third of the file descriptors to other connections.
  const maxStreams = Math.min(limits.connections, Math.ceil((2 * connectionsWithin(2 * limits.connections, 0)) / 3))
  const connections = new LiveConnections({ limits, fanOut, observer, maxStreams })
  const responses = new SharedResponses({ limits, fanOut, versions, onEvaluation, onDelivery })
  const tail = new LedgerTail({
    log: options.ledgerLog ?? noLedger,
    versions,
    limits,
    fanOut,
    report: streamsContext.report,
  })
  const evaluate = createEvaluate({ cache, versions, produce, streamsContext })
  const operations = createLiveOperations(executor, limits, streamsContext)
  const resumptions = new Resumptions({ versions, awaitVersion, fanOut })
  const ofState: StateStreamParts = { limits, connections, responses, resumptions }
  const createLedgerStream = createLedgerStreams({ limits, connections, tail, versions, onDelivery })
  return {
    stages: new Map([
      [liveVaults.path, () => vaultStream({ ...ofState, admission, evaluate, respond: answerRest })],
      [liveEvents.path, () => restLedgerStream({ admission, operations, connections, createLedgerStream })],
      [graphqlPath, graphqlStream({ ...ofState, operations, findDocument, admission, evaluate, createLedgerStream })],
    ]),
    committed({ tags }) {
      responses.committed(tags)
      tail.wake()
    },
    listening(isListening) {
      responses.listening(isListening)
      if (isListening) tail.wake()
      else tail.onListeningStopped()
    },
    endAll: () => connections.endAll(),
  }
}
