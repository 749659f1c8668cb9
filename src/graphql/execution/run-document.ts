import type { GraphQLError } from 'graphql'
import type { SeparatePart } from './compiler/compile-operation.ts'
import { JsonText } from './compiler/json-text.ts'
import type { RequestContext } from './context.ts'
import { publicError } from './errors.ts'
import type { Executor, OperationParams } from './executor.ts'

/** A document of the gateway's own, with one operation, and the part of its data to return separately. */
export interface OwnDocument extends SeparatePart {
  readonly document: { toString(): string }
}

/** Result of a document of the gateway's own, as JSON text. */
export interface ExecutedDocument {
  /** JSON text of the separate part; null if there is none. */
  readonly part: string | null
  /** JSON text of the data without the separate part. */
  readonly rest: string
  /** Errors with masked messages, safe for clients. */
  readonly errors?: readonly GraphQLError[]
}

/**
 * Runs a document of the gateway's own with the executor of client requests.
 * @param event of a subscription, which is run for this event
 * @throws if the document itself is invalid
 */
export async function runDocument(
  executor: Executor,
  wanted: OwnDocument,
  variables: Readonly<Record<string, unknown>>,
  request: RequestContext,
  event?: OperationParams['event'],
): Promise<ExecutedDocument> {
  const prepared = executor.prepareOwn(wanted.document.toString())
  const [invalid] = prepared.errors
  if (invalid !== undefined) throw invalid
  const { data, errors } = await executor.run(prepared, { variables, part: wanted, ...(event && { event }) }, request)
  if (errors !== undefined) {
    return { part: null, rest: 'null', errors: errors.map((error) => publicError(error, request.report)) }
  }
  if (!(data instanceof JsonText)) throw new Error(`${wanted.document.toString()} cannot be compiled.`)
  return { part: data.part, rest: data.text }
}
