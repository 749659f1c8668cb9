import { responseByMethod } from '../../../rest/handler.ts'
import { liveEventOperation, liveEvents } from '../../../rest/live-routes.ts'
import { BadParameter, readParameters } from '../../../rest/parameters.ts'
import { problem } from '../../../rest/problem.ts'
import type { TextResponse } from '../../../rest/text-response.ts'
import { canonicalAddress } from '../../../graphql/canonical-address.ts'
import { parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import { preparationCosts } from '../../../limits.ts'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import type { Exchange, Handler } from '../../middleware.ts'
import { overloaded, refuse } from '../../refuse.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import type { LiveConnections } from '../delivery/live-connections.ts'
import { openAt } from '../responses/opening.ts'
import type { LiveOperations } from '../operations/live-operations.ts'
import { type AdmitPreparation, prepareStream } from '../prepare-stream.ts'
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
  data: problem('DATABASE_UNAVAILABLE', 'Rows may be late. The stream goes on where it is when that has passed.').body,
})

const resetData = problem(
  'HISTORY_CHANGED',
  'The position is not part of the current history, or is no longer kept: read the ledgers again. The stream goes on from this id.',
).body

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

  /** Converts addresses under admission control: one that is not known costs a hash. */
  function canonical(
    exchange: Exchange,
    vaults: readonly string[],
  ): Promise<ReturnType<typeof servedForms> | 'overloaded'> {
    const cost = vaults.length * preparationCosts.variableValue
    return prepareStream(admission, exchange, cost, () => servedForms(vaults))
  }

  return (exchange) => {
    const { request, sender } = exchange
    const refusal = responseByMethod(request.method)
    if (refusal !== null) return new EncodedResponse(refusal)
    const parameters = parametersOf(request.query)
    if ('refusal' in parameters) return refuse(request, parameters.refusal)
    const { vaults, types, after } = parameters
    return openAt(exchange, connections.admit(sender), async (opening) => {
      const served = vaults === undefined ? null : await canonical(exchange, vaults)
      if (served === 'overloaded') return overloaded()
      if (served !== null && 'status' in served) return served
      return createLedgerStream(exchange, { filter: rowFilter(served, types), after, format }, opening)
    })
  }
}

/** Vaults and types of the rows, if given, and the position to begin after. */
interface LedgerParameters extends Pick<LedgerRequest, 'after'> {
  readonly vaults: readonly string[] | undefined
  readonly types: readonly string[] | undefined
}

function parametersOf(query: URLSearchParams): LedgerParameters | { readonly refusal: TextResponse } {
  try {
    const { vaults, types, after } = readParameters(liveEvents.queryParameters, query) as {
      readonly vaults?: readonly string[]
      readonly types?: readonly string[]
      readonly after?: string
    }
    const position = after === undefined ? null : parseLedgerPosition(after)
    if (after === undefined || position !== null) {
      // The type of a row is the name of its enum value in lower case.
      return { vaults, types: types?.map((type) => type.toLowerCase()), after: position }
    }
    return { refusal: problem('BAD_PARAMETER', 'after is neither the id of an event nor a Data-Version', 'after') }
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error
    return { refusal: problem('BAD_PARAMETER', error.message, error.parameter) }
  }
}

/** Returns the served forms of addresses in any spelling, or the problem of one with a wrong checksum. */
function servedForms(vaults: readonly string[]): readonly string[] | TextResponse {
  const served = vaults.map(canonicalAddress)
  const wrong = vaults.find((vault, at) => served[at] !== canonicalAddress(vault.toLowerCase()))
  if (wrong === undefined) return served
  const detail = `vault: ${JSON.stringify(wrong)} is not an address: its EIP-55 checksum is wrong`
  return problem('BAD_PARAMETER', detail, 'vault')
}
