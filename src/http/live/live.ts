import { type LiveLimits, liveLimits } from '../../limits.ts'
import type { ServeCached } from '../cache/cached.ts'
import type { DataVersions } from '../cache/data-versions.ts'
import type { Handler, Middleware } from '../middleware.ts'
import { liveVaults } from '../../rest/live-routes.ts'
import type { AwaitVersion } from '../middleware/min-data-version.ts'
import { connectionsWithin } from '../server/connection-limits.ts'
import { pathEvaluation } from './keys/evaluate-path.ts'
import { createFanOut } from './delivery/fan-out.ts'
import { LiveConnections, type LiveObserver } from './delivery/live-connections.ts'
import { LiveKeys } from './keys/live-keys.ts'
import { vaultStream } from './vault-stream.ts'

export interface LiveOptions {
  readonly limits?: Partial<LiveLimits> | undefined
  readonly observer?: LiveObserver | undefined
  /** Serves whole responses, from the response cache or anew. */
  readonly answer: ServeCached
  readonly data: DataVersions
  readonly awaitVersion: AwaitVersion
  readonly report: (error: unknown, requestId: string) => void
}

/** The streams of a process. */
export interface Live {
  /** Answers the requests for streams, by path. */
  readonly handlers: ReadonlyMap<string, Handler>
  /** Notes a commit; it must have been noted by the response cache and the data versions before. */
  committed(commit: { readonly tags: readonly string[] }): void
  /** Notes whether commits are heard of. */
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

/** Creates the streams of server-sent events: their stages, and what they need to hear of. */
export function createLive(options: LiveOptions): Live {
  const { answer, data, awaitVersion, report, observer = noObserver } = options
  const limits = { ...liveLimits, ...options.limits }
  const fanOut = createFanOut(limits.slice)
  // Streams leave half of the file descriptors to other connections.
  const most = Math.min(limits.connections, Math.ceil(connectionsWithin(2 * limits.connections, 0) / 2))
  const connections = new LiveConnections({ limits, fanOut, observer, most })
  const { onEvaluation, onDelivery } = observer
  const keys = new LiveKeys({ limits, fanOut, data, onEvaluation, onDelivery })
  const evaluatePath = pathEvaluation(answer, report)
  return {
    handlers: new Map([[liveVaults.path, vaultStream({ connections, keys, evaluatePath, awaitVersion, limits })]]),
    committed: ({ tags }) => keys.committed(tags),
    listening: (isListening) => keys.listening(isListening),
    endAll: () => connections.endAll(),
  }
}

/** Begins streams; other requests pass. */
export function liveStreams({ handlers }: Pick<Live, 'handlers'>): Middleware {
  return (exchange, next) => (handlers.get(exchange.request.path) ?? next)(exchange)
}
