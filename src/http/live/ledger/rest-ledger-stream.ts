import { responseByMethod } from '../../../rest/handler.ts'
import { liveEventOperation, liveEvents } from '../../../rest/live-routes.ts'
import { BadParameter, readParameters } from '../../../rest/parameters.ts'
import { problem } from '../../../rest/problem.ts'
import type { TextResponse } from '../../../rest/text-response.ts'
import { parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import type { Handler } from '../../middleware.ts'
import { overloaded, refuse } from '../../refuse.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import type { LiveConnections } from '../delivery/live-connections.ts'
import { openAt } from '../responses/opening.ts'
import type { LiveOperations } from '../operations/live-operations.ts'
import type { RowFormat } from './row-frames.ts'
import type { CreateLedgerStream, LedgerRequest } from './ledger-stream.ts'

export interface RestLedgerStreamOptions {
  readonly operations: LiveOperations
  readonly connections: LiveConnections
  readonly createLedgerStream: CreateLedgerStream
}

const staleFrame = eventFrame({
  event: 'stale',
  data: problem('DATABASE_UNAVAILABLE', 'Rows may be late. The stream goes on where it is when that has passed.').body,
})

const resetData = problem(
  'HISTORY_CHANGED',
  'The position is not part of the current history, or is no longer kept: read the ledgers again. The stream goes on from this id.',
).body

/** Serves `/live/events`: the rows of ledgers, in the order of commits. */
export function restLedgerStream({ operations, connections, createLedgerStream }: RestLedgerStreamOptions): Handler {
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
    const parameters = parametersOf(request.query)
    if ('refusal' in parameters) return refuse(request, parameters.refusal)
    const { variables, after } = parameters
    return openAt(exchange, connections.admit(sender), async (opening) => {
      const checked = await operations.checkSubscription(liveEventOperation.text.toString(), { variables }, exchange)
      if (checked === null) throw new Error('The document of rows is not valid.')
      if ('status' in checked) return toProblem(checked)
      return createLedgerStream(exchange, { args: checked.args, after, format }, opening)
    })
  }
}

/** Variables of the document, and the position to begin after. */
interface LedgerParameters extends Pick<LedgerRequest, 'after'> {
  readonly variables: Readonly<Record<string, unknown>>
}

function parametersOf(query: URLSearchParams): LedgerParameters | { readonly refusal: TextResponse } {
  try {
    const { after, ...variables } = readParameters(liveEvents.queryParameters, query) as { readonly after?: string }
    const position = after === undefined ? null : parseLedgerPosition(after)
    if (after === undefined || position !== null) return { variables, after: position }
    return { refusal: problem('BAD_PARAMETER', 'after is neither the id of an event nor a Data-Version', 'after') }
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error
    return { refusal: problem('BAD_PARAMETER', error.message, error.parameter) }
  }
}

/**
 * Converts the refusal of the document to a problem. A refusal for its values is one of the parameter `vault`: the only
 * value that it can refuse is an address with a wrong checksum.
 */
function toProblem({ body, status }: TextResponse): TextResponse {
  if (status === 503) return overloaded()
  const { errors } = JSON.parse(body) as { readonly errors: readonly { readonly message: string }[] }
  const message = errors[0]?.message ?? ''
  if (status >= 500) return problem('INTERNAL', message)
  return problem('BAD_PARAMETER', `vault: ${message.replace(/^.*?; /, '')}`, 'vault')
}
