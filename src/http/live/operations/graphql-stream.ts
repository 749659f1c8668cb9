import { GraphQLError } from 'graphql'
import { parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import type { PreparedDocument } from '../../../graphql/execution/operation-cache.ts'
import { preparationCosts } from '../../../limits.ts'
import { maxStreamVaults } from '../../../limits/live.ts'
import { Problem } from '../../../rest/problem.ts'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import { acceptedMediaType, formatGraphqlResult } from '../../graphql/result-response.ts'
import { graphqlMediaType } from '../../middleware/content-negotiation.ts'
import { graphqlPath } from '../../graphql/path.ts'
import type { FindDocument } from '../../graphql/persisted-operations.ts'
import type { Exchange, HandlerResponse, Middleware } from '../../middleware.ts'
import { acceptsEvents } from '../../middleware/content-negotiation.ts'
import type { ProducedExchange, Respond } from '../../produce.ts'
import { refuse } from '../../refuse.ts'
import type { Evaluate } from '../responses/evaluation/evaluate.ts'
import { noRoom, openInSlot, type Opening } from '../responses/opening.ts'
import { createStateStream, type StateStreamParts } from '../responses/state-stream.ts'
import type { CreateLedgerStream } from '../ledger/ledger-stream.ts'
import { rowFilter } from '../ledger/row-filter.ts'
import type { CheckedSubscription, LiveOperations } from './live-operations.ts'
import { answerAsEvents, keyOf, resetFrame, rowEvents, staleFrame, stateEvents } from './graphql-events.ts'
import { type SentOperation, sentOperation } from './sent-operation.ts'
import { type AdmitPreparation, prepareStream } from '../prepare-stream.ts'

export interface GraphqlStreamOptions extends StateStreamParts {
  readonly operations: LiveOperations
  /** Finds the document of a subscription that is sent by its hash. */
  readonly findDocument: FindDocument
  readonly admission: AdmitPreparation
  readonly evaluate: Evaluate
  readonly createLedgerStream: CreateLedgerStream
}

/** Arguments of the field `ledger`, coerced. */
interface LedgerArguments {
  readonly vaults?: readonly string[] | null
  readonly types?: readonly string[] | null
  readonly after?: string | null
}

/**
 * Serves GraphQL over SSE, in its distinct connections mode: subscriptions as streams, other operations as one event.
 * @see https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
 */
export function graphqlStream(options: GraphqlStreamOptions): Middleware {
  const { limits, operations, createLedgerStream, connections, responses, evaluate, resumptions } = options

  async function createStream(
    exchange: Exchange,
    sent: SentOperation,
    prepared: PreparedDocument,
    opening: Opening,
  ): Promise<HandlerResponse | Problem> {
    const checked = await operations.checkSubscription(prepared, sent, exchange)
    if ('status' in checked) return new EncodedResponse(checked)
    if (sent.query.length + JSON.stringify(sent.variables ?? {}).length > limits.characters) {
      return new Problem('BODY_TOO_LARGE', `A subscription has at most ${limits.characters} characters.`)
    }
    sent.keep()
    const release = operations.documents.keep(exchange.sender, prepared)
    if (release === null) return noRoom()
    opening.slot.onRelease(release)
    if (checked.name !== 'ledger') return followState(exchange, sent, checked, opening)
    const { after, vaults, types } = checked.args as LedgerArguments
    const position = after == null ? null : parseLedgerPosition(after)
    if (after != null && position === null) return invalid('after', 'is neither a cursor nor a data version')
    if (vaults != null && vaults.length > maxStreamVaults) {
      return invalid('vaults', `has ${vaults.length} values, more than ${maxStreamVaults}`)
    }
    const format = rowEvents(operations, sent, checked, exchange.sender)
    return createLedgerStream(exchange, { filter: rowFilter(vaults, types), after: position, format }, opening)
  }

  /** Follows a subscription to state: its result is evaluated again when its data changes. */
  async function followState(
    exchange: Exchange,
    sent: SentOperation,
    checked: CheckedSubscription,
    { slot, isWanted }: Opening,
  ): Promise<HandlerResponse | Problem> {
    const key = keyOf(sent, checked)
    const respond: Respond<ProducedExchange> = (_, requestContext) =>
      operations.run(sent.query, { ...sent, event: { value: undefined } }, requestContext)
    const query = { ...stateEvents, name: key, evaluate: () => evaluate({ path: graphqlPath, key, respond }) }
    const resumption = await resumptions.awaitResumption(exchange)
    // Evaluated before the stream, so that an error is sent as a status; the response cache then has it for the shared response.
    // Only after the wait: the result may be one from the awaited version on.
    if (!responses.isUpToDate(key)) {
      const first = await responses.evaluator.forOpening(exchange.sender, isWanted, query.evaluate)
      if (first.response.status !== 200) return first.response
    }
    return createStateStream(options, exchange, { slot, resumption, queries: [query], staleFrame, resetFrame })
  }

  /** Refuses an argument of `ledger`. */
  function invalid(argument: string, flaw: string): EncodedResponse {
    const extensions = { code: 'BAD_USER_INPUT', argument, http: { status: 400 } }
    const errors = [new GraphQLError(`${argument} ${flaw}`, { extensions })]
    return new EncodedResponse(formatGraphqlResult({ errors }, graphqlMediaType, operations.requestContext))
  }

  /** Parses a request; a long body is parsed under admission control, with a cost in proportion to its size. */
  function parsed(exchange: Exchange): Promise<SentOperation | null | Problem> {
    const cost = exchange.body.length * preparationCosts.bodyByte
    return prepareStream(options.admission, exchange, cost, () => sentOperation(exchange, options.findDocument))
  }

  return (next) => async (exchange) => {
    const { request, sender } = exchange
    const accept = request.header('accept')
    if (accept === null || !acceptsEvents(accept)) return next(exchange)
    const sent = await parsed(exchange)
    if (sent instanceof Problem) return refuse(request, sent)
    const pass = (): HandlerResponse | Promise<HandlerResponse> =>
      acceptedMediaType(accept) === null ? answerAsEvents(exchange, next) : next(exchange)
    if (sent === null || !subscriptionWord.test(sent.query)) return pass()
    const subscription = await operations.prepareSubscription(sent.query, sent, exchange)
    if (subscription === null) return pass()
    if ('status' in subscription) return new EncodedResponse(subscription)
    const { prepared } = subscription
    return openInSlot(exchange, connections.admit(sender), (opening) => createStream(exchange, sent, prepared, opening))
  }
}

/** A document without this word has no subscription: it is not prepared here. */
const subscriptionWord = /\bsubscription\b/
