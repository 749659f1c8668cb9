import { type ExecutionResult, type GraphQLError, OperationTypeNode } from 'graphql'
import { type Cancellation, Canceller } from '../../../database/cancellation.ts'
import type { RequestContext } from '../../../graphql/execution/context.ts'
import type { Executor } from '../../../graphql/execution/executor.ts'
import type { OperationParams } from '../../../graphql/execution/prepared-operation.ts'
import type { PreparedDocument } from '../../../graphql/execution/operation-cache.ts'
import type { SubscribedField } from '../../../graphql/execution/prepared-operation.ts'
import type { FixedDocument } from '../../../graphql/execution/fixed-document.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import type { TextResponse } from '../../../rest/text-response.ts'
import { formatGraphqlResult } from '../../graphql/result-response.ts'
import { graphqlMediaType } from '../../middleware/content-negotiation.ts'
import type { Exchange } from '../../middleware.ts'
import { RowNotReady } from '../ledger/row-failures.ts'
import { StreamDocuments } from './stream-documents.ts'

/** A subscription that was checked: its field, and its variables, coerced. */
export interface CheckedSubscription extends SubscribedField {
  readonly variables: Readonly<Record<string, unknown>>
}

/** Runs the operations of streams with the one executor. */
export interface LiveOperations {
  /**
   * Prepares the document of a subscription.
   * @returns the response that refuses it; null if the selected operation is not a subscription, or its document is invalid
   */
  prepareSubscription(
    text: string,
    params: OperationParams,
    exchange: Exchange,
  ): Promise<{ readonly prepared: PreparedDocument } | TextResponse | null>
  /**
   * Checks a subscription, and selects its field.
   * @returns the response that refuses it
   */
  checkSubscription(
    prepared: PreparedDocument,
    params: OperationParams,
    exchange: Exchange,
  ): Promise<CheckedSubscription | TextResponse>
  /** Runs a subscription for an event, with the document of its open streams, if there are any. */
  run(text: string, params: OperationParams, requestContext: RequestContext): Promise<TextResponse>
  /**
   * Runs one of the gateway's own subscriptions for an event.
   * @returns JSON text of its body
   * @throws an unexpected error, which is not reported yet
   * @throws {RowNotReady} if it fails for a reason that passes by waiting
   */
  rowBody(document: FixedDocument, value: unknown, signal: Cancellation): Promise<string>
  readonly documents: StreamDocuments
  /** Context of the work that all streams share. */
  readonly requestContext: RequestContext
}

/**
 * Creates the operations of streams.
 * @param documentBytes memory of the documents of open streams
 * @param streamsContext context of the work that all streams share
 */
export function createLiveOperations(
  executor: Executor,
  { documentBytes }: Pick<LiveLimits, 'documentBytes'>,
  streamsContext: RequestContext,
): LiveOperations {
  const documents = new StreamDocuments(documentBytes)

  function prepare(text: string, requestContext: RequestContext): PreparedDocument | Promise<PreparedDocument> {
    return documents.get(text) ?? executor.prepare(text, requestContext)
  }

  async function run(text: string, params: OperationParams, requestContext: RequestContext): Promise<TextResponse> {
    const prepared = await prepare(text, requestContext)
    const { errors } = prepared
    const result: ExecutionResult =
      errors.length > 0 ? { errors } : await executor.run(prepared, params, requestContext)
    return formatGraphqlResult(result, graphqlMediaType, requestContext)
  }

  return {
    requestContext: streamsContext,
    documents,
    run,

    prepareSubscription: (text, params, exchange) =>
      orRefused(exchange, async (requestContext) => {
        const prepared = await prepare(text, requestContext)
        const operation = prepared.errors.length > 0 ? undefined : prepared.select(params.operationName)
        return operation?.definition.operation === OperationTypeNode.SUBSCRIPTION ? { prepared } : null
      }),

    checkSubscription: (prepared, params, exchange) =>
      orRefused(exchange, async (requestContext) => {
        const subscribed = await executor.checkSubscription(prepared, params, requestContext)
        return subscribed.errors === undefined
          ? { ...subscribed.field, variables: subscribed.variables }
          : refused(subscribed.errors, requestContext)
      }),

    async rowBody(document, value, signal) {
      const unexpected: unknown[] = []
      const report = (error: unknown): string => {
        unexpected.push(error)
        return streamsContext.sender
      }
      const { body, errors } = await executor.runFixed(document, {}, { ...streamsContext, signal, report }, { value })
      if (unexpected.length > 0) throw unexpected[0]
      if (body === null || errors !== undefined) throw new RowNotReady(errors?.[0]?.message)
      return body
    },
  }
}

/** Does work for a client until it leaves; returns a refusal if the work fails. */
async function orRefused<Result>(
  { sender, onDisconnect, trace: { report } }: Exchange,
  work: (requestContext: RequestContext) => Promise<Result>,
): Promise<Result | TextResponse> {
  const signal = new Canceller()
  onDisconnect(() => signal.abort())
  const requestContext = { sender, report, signal }
  try {
    return await work(requestContext)
  } catch (error) {
    return refused([error as GraphQLError], requestContext)
  }
}

function refused(errors: readonly GraphQLError[], requestContext: RequestContext): TextResponse {
  return formatGraphqlResult({ errors }, graphqlMediaType, requestContext)
}
