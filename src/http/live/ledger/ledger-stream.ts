import { formatLedgerPosition, type LedgerPosition, parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import { type Problem, retryLater } from '../../../rest/problem.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import type { Exchange, HandlerResponse } from '../../middleware.ts'
import type { LiveConnections } from '../delivery/live-connections.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import { StreamedResponse } from '../delivery/streamed-response.ts'
import type { Opening } from '../responses/opening.ts'
import { LedgerSubscriber, type StartPosition } from './ledger-subscriber.ts'
import type { LedgerTail } from './ledger-tail.ts'
import type { RowFilter } from './row-filter.ts'
import { type RowFormat, RowFrames } from './row-frames.ts'
import { RowPace } from './row-pace.ts'

export interface LedgerStreamOptions {
  readonly limits: LiveLimits
  readonly connections: LiveConnections
  readonly tail: LedgerTail
  readonly versions: DataVersions
  readonly onDelivery: () => void
}

/** A request for a stream of ledger rows. */
export interface LedgerRequest {
  readonly filter: RowFilter
  /** The position to begin after; null for the present one. Last-Event-ID takes precedence. */
  readonly after: LedgerPosition | null
  readonly format: RowFormat
}

/** Begins a stream of ledger rows, or refuses it. */
export type CreateLedgerStream = (
  exchange: Exchange,
  request: LedgerRequest,
  opening: Opening,
) => Promise<HandlerResponse | Problem>

/** Creates the beginning of streams of ledger rows, in any protocol. */
export function createLedgerStreams(options: LedgerStreamOptions): CreateLedgerStream {
  const { limits, connections, tail, versions, onDelivery } = options
  const common = { limits, tail, frames: new RowFrames(limits), pace: new RowPace(), versions, onDelivery }

  return async (exchange, { filter, after, format }, { slot }) => {
    const resumed = resumedPosition(exchange, after)
    const position = resumed ?? (await tail.readEnd(exchange.sender).catch(() => null))
    if (position === null) {
      return retryLater('DATABASE_UNAVAILABLE', 'The database does not answer now. Try again later.')
    }
    return new StreamedResponse((sink) => {
      if (sink === null) return slot.release()
      const connection = connections.open(sink, slot)
      const id = resumed === null && position !== 'malformed' ? formatLedgerPosition(position) : null
      connection.write(eventFrame({ retry: limits.retrySeconds * 1000, id }))
      if (!versions.isListening) connection.sendStale(format.staleFrame)
      new LedgerSubscriber({ ...common, sender: exchange.sender, connection, filter, format, position })
    })
  }
}

/** Returns the position that the client requests; null if it requests none. */
function resumedPosition({ request }: Exchange, after: LedgerPosition | null): StartPosition | null {
  const last = request.header('last-event-id')
  if (last !== null && last !== '') return parseLedgerPosition(last) ?? 'malformed'
  return after
}
