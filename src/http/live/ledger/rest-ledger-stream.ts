import { responseByMethod } from '../../../rest/handler.ts'
import { liveEventOperation, liveEvents } from '../../../rest/live-routes.ts'
import { BadParameter, readParameters } from '../../../rest/parameters.ts'
import { Problem } from '../../../rest/problem.ts'
import { parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import type { IncomingRequest } from '../../incoming-request.ts'
import type { Handler } from '../../middleware.ts'
import { refuse } from '../../refuse.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import type { LiveConnections } from '../delivery/live-connections.ts'
import { openInSlot } from '../responses/opening.ts'
import type { LiveOperations } from '../operations/live-operations.ts'
import type { AdmitPreparation } from '../prepare-stream.ts'
import { servedAddresses } from '../vault-parameter.ts'
import type { CreateLedgerStream, LedgerRequest } from './ledger-stream.ts'
import { rowFilter } from './row-filter.ts'
import type { RowFormat } from './row-frames.ts'

export interface RestLedgerStreamOptions {
  readonly admission: AdmitPreparation
  readonly operations: LiveOperations
  readonly connections: LiveConnections
  readonly createLedgerStream: CreateLedgerStream
}

const staleFrame = eventFrame({
  event: 'stale',
  data: JSON.stringify(
    new Problem('DATABASE_UNAVAILABLE', 'Rows may be late. The stream goes on where it is when that has passed.'),
  ),
})

const resetData = JSON.stringify(
  new Problem(
    'HISTORY_CHANGED',
    'The position is not part of the current history, or is no longer kept: read the ledgers again. The stream goes on from this id.',
  ),
)

/** Serves `/live/events`: the rows of ledgers, in the order of commits. */
export function restLedgerStream(options: RestLedgerStreamOptions): Handler {
  const { admission, operations, connections, createLedgerStream } = options
  const format: RowFormat = {
    name: liveEvents.path,
    sender: operations.requestContext.sender,
    frame: async (row, signal) => {
      const text = await operations.rowBody(liveEventOperation, row, signal)
      return eventFrame({
        event: liveEvents.event.type,
        id: row.cursor,
        data: `{"vault":"${row.vaultAddress}",${text.slice(1)}`,
      })
    },
    reset: (id) => ({ frame: eventFrame({ event: 'reset', id, data: resetData }), isEnd: false }),
    staleFrame,
    freshFrame: eventFrame({ event: 'fresh', data: '{}' }),
  }

  return (exchange) => {
    const { request, sender } = exchange
    const refusal = responseByMethod(request.method)
    if (refusal !== null) return new EncodedResponse(refusal)
    const parameters = parametersOf(request)
    if (parameters instanceof Problem) return refuse(request, parameters)
    const { vaults, types, after } = parameters
    return openInSlot(exchange, connections.admit(sender), async (opening) => {
      const served = vaults === undefined ? null : await servedAddresses(admission, exchange, vaults)
      if (served instanceof Problem) return served
      return createLedgerStream(exchange, { filter: rowFilter(served, types), after, format }, opening)
    })
  }
}

/** Vaults and types of the rows, if given, and the position to begin after. */
interface LedgerParameters extends Pick<LedgerRequest, 'after'> {
  readonly vaults: readonly string[] | undefined
  readonly types: readonly string[] | undefined
}

function parametersOf(request: IncomingRequest): LedgerParameters | Problem {
  try {
    const { vaults, types, after } = readParameters(liveEvents.queryParameters, request) as {
      readonly vaults?: readonly string[]
      readonly types?: readonly string[]
      readonly after?: string
    }
    const position = after === undefined ? null : parseLedgerPosition(after)
    if (after === undefined || position !== null) {
      // The type of a row is the name of its enum value in lower case.
      return { vaults, types: types?.map((type) => type.toLowerCase()), after: position }
    }
    return new BadParameter('after', 'is neither the id of an event nor a Data-Version').toProblem()
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error
    return error.toProblem()
  }
}
