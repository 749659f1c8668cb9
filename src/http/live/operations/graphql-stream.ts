import { hash } from 'node:crypto'
import { GraphQLError } from 'graphql'
import { parseLedgerPosition } from '../../../graphql/ledger-log.ts'
import { preparationCosts } from '../../../limits.ts'
import { type LiveLimits, maxStreamVaults } from '../../../limits/live.ts'
import { problem } from '../../../rest/problem.ts'
import type { TextResponse } from '../../../rest/text-response.ts'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import { acceptedMediaType, formatGraphqlResult } from '../../graphql/result-response.ts'
import { graphqlPath } from '../../graphql/path.ts'
import type { FindDocument } from '../../graphql/persisted-operations.ts'
import type { Exchange, Handler, Middleware, HandlerResponse } from '../../middleware.ts'
import { acceptsEvents } from '../../middleware/content-negotiation.ts'
import { overloaded, refuse } from '../../refuse.ts'
import type { LiveConnections } from '../delivery/live-connections.ts'
import { commentFrame, eventFrame, eventStreamHeaders } from '../delivery/server-sent-events.ts'
import { StreamedResponse } from '../delivery/streamed-response.ts'
import type { Evaluate } from '../responses/evaluation/evaluate.ts'
import type { FollowedQuery } from '../responses/followed-query.ts'
import type { FollowedResponses } from '../responses/followed-responses.ts'
import { noRoom, openAt, type Opening } from '../responses/opening.ts'
import type { RowFormat } from '../ledger/row-frames.ts'
import { RowNotReady } from '../ledger/row-failures.ts'
import type { CreateLedgerStream } from '../ledger/ledger-stream.ts'
import type { CheckedSubscription, LiveOperations } from './live-operations.ts'
import { type SentOperation, sentOperation } from './sent-operation.ts'
import { type AdmitPreparation, prepareStream } from '../prepare-stream.ts'
import type { Resumptions } from '../resumption.ts'

export interface GraphqlStreamOptions {
  readonly limits: LiveLimits
  readonly operations: LiveOperations
  /** Finds the document of a subscription that is sent by its hash. */
  readonly findDocument: FindDocument
  readonly admission: AdmitPreparation
  readonly connections: LiveConnections
  readonly responses: FollowedResponses
  readonly evaluate: Evaluate
  readonly createLedgerStream: CreateLedgerStream
  readonly resumptions: Resumptions
}

/** Media type of the results in events, and of refusals. */
const eventMediaType = 'application/graphql-response+json'

/** Clients of GraphQL over SSE know only the events `next` and `complete`: other messages are comments. */
const staleFrame = commentFrame('stale')
const freshFrame = commentFrame('fresh')
const resetFrame = commentFrame('reset')
const completeFrame = eventFrame({ event: 'complete', data: '' })

/**
 * Serves GraphQL over SSE, in its distinct connections mode: subscriptions as streams, other operations as one event.
 * @see https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
 */
export function graphqlStream(options: GraphqlStreamOptions): Middleware {
  const { limits, operations, createLedgerStream } = options
  const follow = stateStreams(options)

  /** @param pass answers an operation that is not a subscription */
  async function createStream(
    exchange: Exchange,
    sent: SentOperation,
    opening: Opening,
    pass: () => HandlerResponse | Promise<HandlerResponse>,
  ): Promise<HandlerResponse | TextResponse> {
    const checked = await operations.checkSubscription(sent.query, sent, exchange)
    if (checked === null) return pass()
    if ('status' in checked) return new EncodedResponse(checked)
    if (sent.query.length + JSON.stringify(sent.variables ?? {}).length > limits.characters) {
      return problem('BODY_TOO_LARGE', `A subscription has at most ${limits.characters} characters.`)
    }
    sent.keep()
    const release = operations.documents.keep(exchange.sender, checked.prepared)
    if (release === null) return noRoom()
    opening.slot.onRelease(release)
    if (checked.name !== 'ledger') return follow(exchange, sent, checked, opening)
    const { after, vaults } = checked.args as { readonly after?: string | null; readonly vaults?: unknown[] | null }
    const position = after == null ? null : parseLedgerPosition(after)
    if (after != null && position === null) return invalid('after', 'is neither a cursor nor a data version')
    if (vaults != null && vaults.length > maxStreamVaults) {
      return invalid('vaults', `has ${vaults.length} values, more than ${maxStreamVaults}`)
    }
    const format = rowFormat(operations, sent, checked, exchange.sender)
    return createLedgerStream(exchange, { args: checked.args, after: position, format }, opening)
  }

  /** Refuses an argument of `ledger`. */
  function invalid(argument: string, flaw: string): EncodedResponse {
    const extensions = { code: 'BAD_USER_INPUT', argument, http: { status: 400 } }
    const errors = [new GraphQLError(`${argument} ${flaw}`, { extensions })]
    return new EncodedResponse(formatGraphqlResult({ errors }, eventMediaType, operations.requestContext))
  }

  /** Parses a request; a long body is parsed under admission control, with a cost in proportion to its size. */
  function parsed(exchange: Exchange): Promise<SentOperation | null | 'overloaded'> {
    const cost = exchange.body.length * preparationCosts.bodyByte
    return prepareStream(options.admission, exchange, cost, () => sentOperation(exchange, options.findDocument))
  }

  return (next) => async (exchange) => {
    const { request, sender } = exchange
    const accept = request.header('accept')
    if (accept === null || !acceptsEvents(accept)) return next(exchange)
    const sent = await parsed(exchange)
    if (sent === 'overloaded') return refuse(request, overloaded())
    const pass = (): HandlerResponse | Promise<HandlerResponse> =>
      acceptedMediaType(accept) === null ? asEvents(exchange, next) : next(exchange)
    if (sent === null || !subscriptionWord.test(sent.query)) return pass()
    const slot = options.connections.admit(sender)
    return openAt(exchange, slot, (opening) => createStream(exchange, sent, opening, pass))
  }
}

/** A document without this word has no subscription: it needs no slot among the streams. */
const subscriptionWord = /\bsubscription\b/

/** Creates the streams of state: results that are evaluated again when their data changes. */
function stateStreams({ limits, operations, connections, responses, evaluate, resumptions }: GraphqlStreamOptions) {
  return async (
    exchange: Exchange,
    sent: SentOperation,
    checked: CheckedSubscription,
    { slot, isWanted }: Opening,
  ): Promise<HandlerResponse | TextResponse> => {
    const key = keyOf(sent, checked)
    const followedQuery: FollowedQuery = {
      name: key,
      evaluate: () =>
        evaluate({
          path: graphqlPath,
          key,
          respond: (_, requestContext) =>
            operations.run(sent.query, { ...sent, event: { value: undefined } }, requestContext),
        }),
      frame: (body, version) => eventFrame({ event: 'next', id: version, data: body }),
      refusal: ({ bytes }) => ({ frame: ending(bytes), isEnd: true }),
      staleFrame,
    }
    const resumption = await resumptions.awaitResumption(exchange)
    // Evaluated before the stream, so that an error is sent as a status; the response cache then has it for the followed response.
    // Only after the wait: the result may be one from the awaited version on.
    if (!responses.isUpToDate(key)) {
      const first = await responses.evaluator.forOpening(exchange.sender, isWanted, followedQuery.evaluate)
      if (first.response.status !== 200) return first.response
    }
    if (!responses.canFollow(exchange.sender, 1) || !responses.canStore(exchange.sender, key)) return noRoom()
    return new StreamedResponse((sink) => {
      if (sink === null) return slot.release()
      const connection = connections.open(sink, slot)
      connection.write(eventFrame({ retry: limits.retrySeconds * 1000 }))
      resumptions.resume(exchange, resumption, {
        connection,
        staleFrame,
        reserve: () => responses.reserve(1, connection),
        follow: (settled) => {
          if (settled === 'lost') connection.write(resetFrame)
          responses.follow(followedQuery, connection)
        },
      })
    })
  }
}

/** @param sender of the stream, whose share of admission control its rows use */
function rowFormat(
  operations: LiveOperations,
  sent: SentOperation,
  checked: CheckedSubscription,
  sender: string,
): RowFormat {
  return {
    name: keyOf(sent, checked),
    sender,
    frame: async (row, signal) => {
      const requestContext = { ...operations.requestContext, sender, signal }
      const { status, body } = await operations.run(sent.query, { ...sent, event: { value: row } }, requestContext)
      if (status === 503) throw new RowNotReady('The row cannot be produced now.')
      return eventFrame({ event: 'next', id: row.cursor, data: body })
    },
    reset: (version) => ({ frame: ending(lostPosition(version)), isEnd: true }),
    staleFrame,
    freshFrame,
  }
}

/** Returns the last events of a stream: a result, and its end. */
function ending(result: string | Buffer): Buffer {
  return Buffer.concat([eventFrame({ event: 'next', data: result }), completeFrame])
}

function lostPosition(version: string): string {
  const message =
    'The cursor is not part of the current history, or is no longer kept: read the ledgers again, and subscribe again after `version`.'
  return JSON.stringify({ errors: [{ message, extensions: { code: 'HISTORY_CHANGED', version } }] })
}

/** Returns a name that is equal for operations with equal results: of bounded length, because streams retain it. */
function keyOf({ query, operationName }: SentOperation, { variables }: CheckedSubscription): string {
  return `subscription ${hash('sha256', JSON.stringify([query, operationName ?? null, variables]), 'base64url')}`
}

/** Answers an operation that is not a subscription with one event. */
async function asEvents(exchange: Exchange, next: Handler): Promise<HandlerResponse> {
  const { request } = exchange
  const { method, path, target, query, httpVersion, rawHeaders, remoteAddress } = request
  const asJson = {
    ...{ method, path, target, query, httpVersion, rawHeaders, remoteAddress },
    header: (name: string) => (name === 'accept' ? eventMediaType : request.header(name)),
    headerRecord: () => ({ ...request.headerRecord(), accept: eventMediaType }),
  }
  const forJson = { ...exchange, request: asJson }
  const response = await next(forJson)
  exchange.stateAtStart = forJson.stateAtStart
  if (response instanceof StreamedResponse || response.status !== 200) return response
  return new EncodedResponse({ status: 200, headers: eventStreamHeaders, body: ending(response.bytes) })
}
