import { hash } from 'node:crypto'
import { EncodedResponse } from '../../cache/encoded-response.ts'
import { graphqlMediaType } from '../../middleware/content-negotiation.ts'
import type { Exchange, Handler, HandlerResponse } from '../../middleware.ts'
import { commentFrame, eventFrame, eventStreamHeaders } from '../delivery/server-sent-events.ts'
import { StreamedResponse } from '../delivery/streamed-response.ts'
import { RowNotReady } from '../ledger/row-failures.ts'
import type { RowFormat } from '../ledger/row-frames.ts'
import type { SharedQuery } from '../responses/shared-query.ts'
import type { CheckedSubscription, LiveOperations } from './live-operations.ts'
import type { SentOperation } from './sent-operation.ts'

/** Clients of GraphQL over SSE know only the events `next` and `complete`: other messages are comments. */
export const staleFrame = commentFrame('stale')
const freshFrame = commentFrame('fresh')
export const resetFrame = commentFrame('reset')
const completeFrame = eventFrame({ event: 'complete', data: '' })

/** Events of a subscription to state: its newest result is one `next`, a refusal ends the stream. */
export const stateEvents: Omit<SharedQuery, 'name' | 'evaluate'> = {
  frame: (body, version) => eventFrame({ event: 'next', id: version, data: body }),
  refusal: ({ bytes }) => ({ frame: ending(bytes), isEnd: true }),
  staleFrame,
  ownStaleFrame: staleFrame,
}

/**
 * Returns the events of a subscription to rows: each is one `next`.
 * @param sender of the stream, whose share of admission control its rows use
 */
export function rowEvents(
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
export function keyOf({ query, operationName }: SentOperation, { variables }: CheckedSubscription): string {
  return `subscription ${hash('sha256', JSON.stringify([query, operationName ?? null, variables]), 'base64url')}`
}

/** Answers an operation that is not a subscription with one event. */
export async function answerAsEvents(exchange: Exchange, next: Handler): Promise<HandlerResponse> {
  const { request } = exchange
  const { method, path, target, query, httpVersion, rawHeaders, remoteAddress } = request
  const asJson = {
    ...{ method, path, target, query, httpVersion, rawHeaders, remoteAddress },
    header: (name: string) => (name === 'accept' ? graphqlMediaType : request.header(name)),
    headerRecord: () => ({ ...request.headerRecord(), accept: graphqlMediaType }),
  }
  const forJson = { ...exchange, request: asJson }
  const response = await next(forJson)
  exchange.stateAtStart = forJson.stateAtStart
  if (response instanceof StreamedResponse || response.status !== 200) return response
  return new EncodedResponse({ status: 200, headers: eventStreamHeaders, body: ending(response.bytes) })
}
