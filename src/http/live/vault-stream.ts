import { maxStreamVaults } from '../../limits/live.ts'
import { responseByMethod } from '../../rest/handler.ts'
import { liveVaults } from '../../rest/live-routes.ts'
import { BadParameter, readParameters } from '../../rest/parameters.ts'
import { Problem } from '../../rest/problem.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Exchange, Handler, HandlerResponse } from '../middleware.ts'
import { overloaded, refuse } from '../refuse.ts'
import type { ProducedExchange, Respond } from '../produce.ts'
import type { Evaluate } from './responses/evaluation/evaluate.ts'
import type { Evaluation, SharedQuery } from './responses/shared-query.ts'
import { openInSlot, type Opening } from './responses/opening.ts'
import { createStateStream, type StateStreamParts } from './responses/state-stream.ts'
import { eventFrame } from './delivery/server-sent-events.ts'
import type { AdmitPreparation } from './prepare-stream.ts'
import { servedAddresses } from './vault-parameter.ts'

export interface VaultStreamOptions extends StateStreamParts {
  readonly admission: AdmitPreparation
  readonly evaluate: Evaluate
  /** Answers the request for a snapshot. */
  readonly respond: Respond<ProducedExchange>
}

const stale = new Problem(
  'DATABASE_UNAVAILABLE',
  'The data that was sent may be out of date. The newest snapshot is sent after the recovery.',
)

const staleFrame = eventFrame({ event: 'stale', data: JSON.stringify(stale) })

const resetFrame = eventFrame({
  event: 'reset',
  data: JSON.stringify(
    new Problem('HISTORY_CHANGED', "Last-Event-ID is none of the data's history: the snapshots follow anew."),
  ),
})

/** Serves `/live/vaults`: the snapshots of vaults, immediately and on each change. */
export function vaultStream(options: VaultStreamOptions): Handler {
  const { admission, connections, responses, evaluate, respond, resumptions } = options
  const evaluatePath = (path: string): Promise<Evaluation> => evaluate({ path, key: path, respond })

  /**
   * Produces the first response of a vault, so that an error is sent as a status before the stream starts. It is
   * skipped if streams follow the vault already. The response cache then has it for the shared response.
   * @returns the response if it is an error
   */
  async function firstError(path: string, sender: string, isWanted: () => boolean): Promise<EncodedResponse | null> {
    if (responses.isUpToDate(path)) return null
    const { response } = await responses.evaluator.forOpening(sender, isWanted, () => evaluatePath(path))
    return response.status === 200 ? null : response
  }

  async function createStream(
    exchange: Exchange,
    vaults: readonly string[],
    { slot, isWanted }: Opening,
  ): Promise<HandlerResponse | Problem> {
    const { sender } = exchange
    if (!responses.evaluator.hasRoomForOpenings(sender, vaults.length)) return overloaded()
    const served = await servedAddresses(admission, exchange, vaults)
    if (served instanceof Problem) return served
    // All spellings of an address share one path.
    const paths = new Map(served.map((vault) => [vault, `/vault/${vault}/snapshot`]))
    const resumption = await resumptions.awaitResumption(exchange)
    // Only after the wait: the vault may exist only from the awaited version on.
    const errors = await Promise.all(Array.from(paths.values(), (path) => firstError(path, sender, isWanted)))
    // A missing vault may be created by the late version. What is unavailable follows after its recovery.
    const isComing = (status: number): boolean => status === 503 || (resumption === 'late' && status === 404)
    const refusal = errors.find((error) => error !== null && !isComing(error.status)) ?? null
    if (refusal !== null) return refusal
    const queries = Array.from(paths, ([vault, path]) => sharedSnapshot(vault, path, evaluatePath))
    const failed = new Set(Array.from(paths.values()).filter((_, index) => errors[index]?.status === 503))
    return createStateStream(options, exchange, { slot, resumption, queries, failed, staleFrame, resetFrame })
  }

  return (exchange) => {
    const { request, sender } = exchange
    const refusal = responseByMethod(request.method)
    if (refusal !== null) return new EncodedResponse(refusal)
    const vaults = vaultsIn(request)
    if (vaults instanceof Problem) return refuse(request, vaults)
    return openInSlot(exchange, connections.admit(sender), (opening) => createStream(exchange, vaults, opening))
  }
}

function vaultsIn(request: IncomingRequest): readonly string[] | Problem {
  try {
    const { vaults } = readParameters(liveVaults.queryParameters, request) as { readonly vaults?: readonly string[] }
    if (vaults !== undefined) return vaults
    return new BadParameter('vault', `is missing: name 1 to ${maxStreamVaults} vaults, with commas`).toProblem()
  } catch (error) {
    if (error instanceof BadParameter) return error.toProblem()
    throw error
  }
}

function sharedSnapshot(vault: string, path: string, evaluatePath: (path: string) => Promise<Evaluation>): SharedQuery {
  return {
    name: path,
    evaluate: () => evaluatePath(path),
    frame: (body, version) => eventFrame({ event: 'snapshot', id: version, data: body }),
    // The vault was lost by a failover, or could not be looked up when the stream started.
    refusal: ({ bytes }) => ({ frame: eventFrame({ event: 'reset', data: bytes }), isEnd: false }),
    staleFrame,
    ownStaleFrame: eventFrame({
      event: 'stale',
      data: JSON.stringify({ ...stale.toJSON(), vault }),
    }),
  }
}
