import type { LiveLimits } from '../../../limits/live.ts'
import type { Problem } from '../../../rest/problem.ts'
import type { Exchange } from '../../middleware.ts'
import type { LiveConnections, StreamSlot } from '../delivery/live-connections.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import { StreamedResponse } from '../delivery/streamed-response.ts'
import type { Resumption, Resumptions } from '../resumption.ts'
import type { SharedQuery } from './shared-query.ts'
import type { SharedResponses } from './shared-responses.ts'
import { noRoom } from './opening.ts'

/** The parts that all streams of state share. */
export interface StateStreamParts {
  readonly limits: LiveLimits
  readonly connections: LiveConnections
  readonly responses: SharedResponses
  readonly resumptions: Resumptions
}

/** A stream of state whose first responses were produced, and do not refuse it. */
export interface StateStream {
  readonly slot: StreamSlot
  readonly resumption: Resumption
  readonly queries: readonly SharedQuery[]
  /** Names of the queries whose first evaluation failed by an error that does not refuse the stream. */
  readonly failed?: ReadonlySet<string>
  /** Frame that marks the client's data as possibly out of date. */
  readonly staleFrame: Buffer
  /** Frame that tells a client that its version is not part of the history. */
  readonly resetFrame: Buffer
}

/**
 * Creates a stream of state: the response of each query immediately, and again after each commit that changes it. It is held
 * back while the client's version is later than that of this process.
 * @returns the problem of a stream that exceeds the limits on shared responses
 */
export function createStateStream(
  { limits, connections, responses, resumptions }: StateStreamParts,
  exchange: Exchange,
  { slot, resumption, queries, failed, staleFrame, resetFrame }: StateStream,
): StreamedResponse | Problem {
  const { sender } = exchange
  const hasMemory = queries.every(({ name }) => responses.canStore(sender, name))
  const giveBack = hasMemory ? responses.reserve(sender, queries.length) : null
  if (giveBack === null) return noRoom()
  slot.onRelease(giveBack)
  return new StreamedResponse((sink) => {
    if (sink === null) return slot.release()
    const connection = connections.open(sink, slot)
    connection.write(eventFrame({ retry: limits.retrySeconds * 1000 }))
    resumptions.resume(exchange, resumption, {
      connection,
      staleFrame,
      follow: (settled) => {
        if (settled === 'lost') connection.write(resetFrame)
        giveBack()
        for (const query of queries) responses.follow(query, connection, failed?.has(query.name))
      },
    })
  })
}
