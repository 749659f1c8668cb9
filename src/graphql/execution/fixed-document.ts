import type { GraphQLError } from 'graphql'
import type { BodySelection } from './compiler/compile-operation.ts'
import type { RequestContext } from './context.ts'
import type { RunParams } from './prepared-operation.ts'

/**
 * A fixed document: one of the gateway itself, such as that of a REST path, with one operation, and the part of its data
 * that is the body of a response.
 */
export interface FixedDocument extends BodySelection {
  /** Its text. */
  readonly text: { toString(): string }
}

/** Result of a fixed document, as JSON text. */
export interface ExecutedDocument {
  /** JSON text of the body; null if there is none. */
  readonly body: string | null
  /** JSON text of the data around the body, with null in its place. */
  readonly envelope: string
  /** Errors with masked messages, safe for clients. */
  readonly errors?: readonly GraphQLError[]
}

/** Executes fixed documents. */
export interface FixedDocumentExecutor {
  /**
   * Runs a document of the gateway itself, which is prepared once and never evicted.
   * @param event of a subscription, which is run for this event
   * @throws if the document itself is invalid
   */
  runFixed(
    document: FixedDocument,
    variables: Readonly<Record<string, unknown>>,
    requestContext: RequestContext,
    event?: RunParams['event'],
  ): Promise<ExecutedDocument>
}
