import { execute, type ExecutionResult, type GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql'
import { admissionLimits, preparationCosts, type QueryLimits } from '../../limits.ts'
import { liveLimits } from '../../limits/live.ts'
import type { Cancellation } from '../../database/cancellation.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import type { CompiledOperation, SeparatePart } from './compiler/compile-operation.ts'
import { JsonText } from './compiler/json-text.ts'
import type { RunConsistently } from './consistent-reads.ts'
import type { Context, RequestContext } from './context.ts'
import { noStream, publicError, unknownOperation } from './errors.ts'
import { OperationCache, type PreparedDocument } from './operation-cache.ts'
import { coerceVariables, type PreparedOperation, type SubscribedField } from './prepared-operation.ts'
import { checkCost, checkVariables, countTokens } from './query-limits.ts'

/** Reasons why graphql-js executes an operation in place of the compiled one. */
export const fallbackReasons = ['error', 'not compiled'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

export interface ExecutorOptions {
  readonly schema: GraphQLSchema
  readonly limits: QueryLimits
  readonly admission: AdmissionControl
  readonly runConsistently: RunConsistently
  /** Called for each execution by graphql-js. */
  readonly onFallback?: ((reason: FallbackReason) => void) | undefined
}

/** The operation of a document to run, and its variables as sent by the client. */
export interface OperationParams {
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
  /** A part of the data whose JSON text is returned separately. */
  readonly part?: SeparatePart
  /** The event of a subscription, which is run once for each; without it a subscription is refused. */
  readonly event?: { readonly value: unknown } | undefined
}

/** A subscription whose events may be run, or the errors for which it is refused. */
export type Subscribed =
  | {
      readonly field: SubscribedField
      readonly variables: Readonly<Record<string, unknown>>
      readonly errors?: undefined
    }
  | { readonly errors: readonly GraphQLError[] }

/** A document of the gateway's own, with one operation, and the part of its data to return separately. */
export interface OwnDocument extends SeparatePart {
  readonly document: { toString(): string }
}

/** Result of a document of the gateway's own, as JSON text. */
export interface ExecutedDocument {
  /** JSON text of the separate part; null if there is none. */
  readonly part: string | null
  /** JSON text of the data without the separate part. */
  readonly remainder: string
  /** Errors with masked messages, safe for clients. */
  readonly errors?: readonly GraphQLError[]
}

/** Executes all operations of the gateway: those of GraphQL clients, of the REST paths and of its own pages. */
export interface Executor {
  /**
   * Parses, validates and prices a document, or returns it from the cache.
   * @throws {AdmissionQueueFull} if too many other documents wait for preparation
   */
  prepare(text: string, request: RequestContext): PreparedDocument | Promise<PreparedDocument>
  /**
   * Runs an operation of a valid document, after admission. Its data is a {@link JsonText} if the compiled operation
   * ran.
   * @throws {AdmissionQueueFull} if too many other operations wait
   * @throws {ReadCancelled} if the request is cancelled while it waits
   */
  run(prepared: PreparedDocument, params: OperationParams, request: RequestContext): Promise<ExecutionResult>
  /**
   * Runs a document of the gateway's own, which is prepared once, whatever clients send.
   * @param event of a subscription, which is run for this event
   * @throws if the document itself is invalid
   */
  runOwn(
    wanted: OwnDocument,
    variables: Readonly<Record<string, unknown>>,
    request: RequestContext,
    event?: OperationParams['event'],
  ): Promise<ExecutedDocument>
  /**
   * Checks a subscription as `run` does before it runs, with a smaller limit on its cost, and selects its field.
   * @throws {AdmissionQueueFull} if too many other operations wait for preparation
   */
  subscribe(prepared: PreparedDocument, params: OperationParams, request: RequestContext): Promise<Subscribed>
}

/** Creates the executor, with an operation cache of its own. */
export function createExecutor({ schema, limits, admission, runConsistently, onFallback }: ExecutorOptions): Executor {
  const cache = new OperationCache(schema, limits)

  /**
   * Runs the compiled operation; if it fails, graphql-js executes the operation, with the values that loaders have
   * already read. A cancelled operation fails at once.
   */
  async function attempt(
    { operation: { definition, document }, coerced }: CheckedOperation,
    compiled: CompiledOperation | null,
    { variables, part, event }: OperationParams,
    contextValue: Context,
    signal: Cancellation | undefined,
  ): Promise<ExecutionResult> {
    if (compiled !== null) {
      try {
        const data: object = await compiled.run(event?.value, contextValue, coerced)
        return { data: data as Record<string, unknown> }
      } catch (error) {
        if (signal?.aborted === true) throw error
        // graphql-js implements GraphQL's rules on nulls, errors and their order.
      }
    }
    onFallback?.(compiled === null ? 'not compiled' : 'error')
    const args = { schema, document, operationName: definition.name?.value, rootValue: event?.value }
    const result = await execute({ ...args, variableValues: variables, contextValue })
    // graphql-js cannot write the separate part of a REST document; only its errors are of use there.
    if (compiled !== null && part !== undefined && result.errors === undefined)
      throw new Error('An operation failed compiled, and succeeded in graphql-js.')
    return result
  }

  /** Checks everything that prevents an operation from running. */
  async function check(
    prepared: PreparedDocument,
    params: OperationParams,
    request: RequestContext,
    costLimits: QueryLimits,
  ): Promise<CheckedOperation | { readonly errors: readonly GraphQLError[] }> {
    const operation = prepared.select(params.operationName)
    if (operation === undefined) return { errors: [unknownOperation(params.operationName)] }
    const extent = checkVariables(params.variables, limits)
    const refused = operation.sizeError ?? extent.error
    if (refused !== null) return { errors: [refused] }
    const { definition } = operation
    const { sender, signal } = request
    const cost = extent.values * preparationCosts.variableValue
    // Many variables are coerced only after admission, because each may take a hash.
    const { coerced, error } =
      cost <= admissionLimits.shortPreparation
        ? coerceVariables(schema, definition, params.variables)
        : await admission.prepare(() => coerceVariables(schema, definition, params.variables), { cost, sender, signal })
    if (error !== undefined) return { errors: [error] }
    const price = operation.costOf(coerced)
    const flaw = operation.conditionError(coerced) ?? checkCost(price, costLimits)
    return flaw === null ? { operation, coerced, cost: price.cost } : { errors: [flaw] }
  }

  async function run(
    prepared: PreparedDocument,
    params: OperationParams,
    request: RequestContext,
  ): Promise<ExecutionResult> {
    const checked = await check(prepared, params, request, limits)
    if ('errors' in checked) return checked
    const { operation, coerced, cost } = checked
    if (operation.definition.operation !== OperationTypeNode.QUERY && params.event === undefined)
      return { errors: [noStream()] }
    const { sender, signal } = request
    // The context is created after admission: one created before would have an old data version.
    const work = (): Promise<ExecutionResult> => {
      const compiled = operation.compiledFor(coerced, params.part)
      return runConsistently(request, (context) => attempt(checked, compiled, params, context, signal))
    }
    const ticket = { cost, sender, signal }
    const isCheap = cost <= admissionLimits.cheapCost
    const result = await (isCheap ? admission.cheap(work, ticket) : admission.expensive(work, ticket))
    if (result.errors !== undefined && request.origin !== undefined) request.origin.isCacheable = false
    result.extensions = { cost: { figure: cost, most: limits.cost } }
    return result
  }

  return {
    prepare(text, { sender, signal }) {
      const known = cache.get(text)
      if (known !== undefined) return known
      const isLong = Buffer.byteLength(text) > limits.bytes
      const tokens = isLong ? 0 : Math.min(countTokens(text), limits.tokens)
      const ticket = { cost: tokens * preparationCosts.token, sender, signal }
      return admission.prepare(() => cache.get(text) ?? cache.prepare(text), ticket)
    },

    run,

    async runOwn(wanted, variables, request, event) {
      const prepared = cache.pinned(wanted.document.toString())
      const [invalid] = prepared.errors
      if (invalid !== undefined) throw invalid
      const { data, errors } = await run(prepared, { variables, part: wanted, event }, request)
      if (errors !== undefined) {
        return { part: null, remainder: 'null', errors: errors.map((error) => publicError(error, request.report)) }
      }
      if (!(data instanceof JsonText)) throw new Error(`${wanted.document.toString()} cannot be compiled.`)
      return { part: data.part, remainder: data.text }
    },

    async subscribe(prepared, params, request) {
      const cost = Math.min(limits.cost, liveLimits.cost)
      const checked = await check(prepared, params, request, { ...limits, cost })
      if ('errors' in checked) return checked
      const field = checked.operation.subscribedField(checked.coerced)
      return field === null ? { errors: [noStream()] } : { field, variables: checked.coerced }
    },
  }
}

/** An operation that may run, with its variables. */
interface CheckedOperation {
  readonly operation: PreparedOperation
  readonly coerced: Readonly<Record<string, unknown>>
  readonly cost: number
}
