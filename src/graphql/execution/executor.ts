import { type ExecutionResult, type GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql'
import { admissionLimits, preparationCosts, type QueryLimits } from '../../limits.ts'
import { liveLimits } from '../../limits/live.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import type { BodySelection } from './compiler/compile-operation.ts'
import { JsonText } from './compiler/output-writer.ts'
import type { RunConsistently } from './consistent-reads.ts'
import type { RequestContext } from './context.ts'
import { noMutation, noStream, publicError, unknownOperation } from './errors.ts'
import { FallbackQueue, type FallbackReason, type RunFallback } from './fallback-queue.ts'
import { nullError } from './null-variables.ts'
import { OperationCache, type PreparedDocument } from './operation-cache.ts'
import type { PreparedOperation, RunParams, SubscribedField } from './prepared-operation.ts'
import { checkVariables, countTokens, tooExpensive } from './query-limits.ts'

export interface ExecutorOptions {
  readonly schema: GraphQLSchema
  readonly limits: QueryLimits
  readonly admission: AdmissionControl
  readonly runConsistently: RunConsistently
  /** Called for each execution by graphql-js. */
  readonly onFallback?: ((reason: FallbackReason) => void) | undefined
}

/** The operation of a document to run. A subscription is refused without an event. */
export interface OperationParams extends RunParams {
  readonly operationName?: string | null | undefined
}

/** A subscription whose events may be run, or the errors for which it is refused. */
export type Subscribed =
  | {
      readonly field: SubscribedField
      readonly variables: Readonly<Record<string, unknown>>
      readonly errors?: undefined
    }
  | { readonly errors: readonly GraphQLError[] }

/** A document of the gateway itself, with one operation, and the part of its data that is the body of a response. */
export interface FixedDocument extends BodySelection {
  /** Its text. */
  readonly text: { toString(): string }
}

/** Result of a document of the gateway itself, as JSON text. */
export interface ExecutedDocument {
  /** JSON text of the body; null if there is none. */
  readonly body: string | null
  /** JSON text of the data around the body, with null in its place. */
  readonly envelope: string
  /** Errors with masked messages, safe for clients. */
  readonly errors?: readonly GraphQLError[]
}

/** Executes all operations of the gateway: those of GraphQL clients, of the REST paths and of its own pages. */
export interface Executor {
  /**
   * Parses and validates a document, and computes its cost, or returns it from the cache.
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
   * Runs a document of the gateway itself, which is prepared once and never evicted.
   * @param event of a subscription, which is run for this event
   * @throws if the document itself is invalid
   */
  runFixed(
    document: FixedDocument,
    variables: Readonly<Record<string, unknown>>,
    request: RequestContext,
    event?: OperationParams['event'],
  ): Promise<ExecutedDocument>
  /**
   * Checks a subscription like `run` before execution, but with a smaller cost limit, and selects its field.
   * @throws {AdmissionQueueFull} if too many other operations wait for preparation
   */
  subscribe(prepared: PreparedDocument, params: OperationParams, request: RequestContext): Promise<Subscribed>
}

/** Creates the executor, with a separate operation cache. */
export function createExecutor({ schema, limits, admission, runConsistently, onFallback }: ExecutorOptions): Executor {
  const cache = new OperationCache(schema, limits)
  const fallbacks = new FallbackQueue(admission, onFallback)
  /** Maximum cost of a subscription, which runs for each event. */
  const maxOfEvent = Math.min(limits.cost, liveLimits.cost)

  /** Operations of fixed documents, by object, which saves a lookup by text; never evicted. */
  const fixed = new Map<FixedDocument, PreparedOperation>()

  /** @throws if the document is invalid */
  function prepareFixed(document: FixedDocument): PreparedOperation {
    const { operations, errors } = cache.fixed(document.text.toString())
    const [operation] = operations
    if (operation === undefined) throw errors[0] ?? new Error('The document has no operation.')
    fixed.set(document, operation)
    return operation
  }

  /** Checks everything that prevents a client's operation from running, besides its cost. */
  async function check(
    prepared: PreparedDocument,
    params: OperationParams,
    { sender, signal }: RequestContext,
  ): Promise<CheckedOperation | Refused> {
    const operation = prepared.select(params.operationName)
    if (operation === undefined) return { errors: [unknownOperation(params.operationName)] }
    const extent = checkVariables(params.variables, limits)
    const refused = operation.sizeError ?? extent.error
    if (refused !== null) return { errors: [refused] }
    const cost = extent.values * preparationCosts.variableValue
    // Many variables are coerced only after admission, because each may take a hash.
    const { coerced, error } =
      cost <= admissionLimits.shortPreparation
        ? operation.coerce(params.variables)
        : await admission.prepare(() => operation.coerce(params.variables), { cost, sender, signal })
    if (error !== undefined) return { errors: [error] }
    const nullRefusal = nullError(operation.nullableVariables, coerced)
    return nullRefusal === null ? { operation, coerced } : { errors: [nullRefusal] }
  }

  /** Runs an operation after admission, compiled if that is possible. */
  async function runChecked(
    operation: PreparedOperation,
    coerced: Variables,
    params: OperationParams,
    request: RequestContext,
  ): Promise<ExecutionResult> {
    const { cost } = operation.costOf(coerced)
    const kind = operation.definition.operation
    if (kind === OperationTypeNode.MUTATION) return { errors: [noMutation()] }
    if (kind === OperationTypeNode.SUBSCRIPTION && params.event === undefined) return { errors: [noStream()] }
    // The context is created after admission: a waiting operation holds no loaders.
    const { signal } = request
    const runFallback: RunFallback = (reason, execute) => fallbacks.run(reason, signal, execute)
    const work = (): Promise<ExecutionResult> =>
      runConsistently(request, (context) => operation.run(coerced, params, context, signal, runFallback))
    const ticket = { cost, sender: request.sender, signal }
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
      const tokens = isLong ? 0 : Math.min(countTokens(text, limits.tokens), limits.tokens)
      const ticket = { cost: tokens * preparationCosts.token, sender, signal }
      return admission.prepare(() => cache.get(text) ?? cache.prepare(text), ticket)
    },

    async run(prepared, params, request) {
      const checked = await check(prepared, params, request)
      if ('errors' in checked) return checked
      const queryCost = checked.operation.costOf(checked.coerced)
      if (queryCost.cost > limits.cost) return { errors: [tooExpensive(queryCost, limits)] }
      return runChecked(checked.operation, checked.coerced, params, request)
    },

    async runFixed(document, variables, request, event) {
      const operation = fixed.get(document) ?? prepareFixed(document)
      const { coerced, error } = operation.coerce(variables)
      const params = { variables, body: document, event }
      const { data, errors } =
        error === undefined ? await runChecked(operation, coerced, params, request) : { data: null, errors: [error] }
      if (errors !== undefined) {
        return { body: null, envelope: 'null', errors: errors.map((each) => publicError(each, request.report)) }
      }
      if (!(data instanceof JsonText))
        throw new Error('An operation of the gateway itself was not answered by its compiled form.')
      return { body: data.body, envelope: data.text }
    },

    async subscribe(prepared, params, request) {
      const checked = await check(prepared, params, request)
      if ('errors' in checked) return checked
      const { operation, coerced } = checked
      const queryCost = operation.costOf(coerced)
      if (queryCost.cost > maxOfEvent) return { errors: [tooExpensive(queryCost, { ...limits, cost: maxOfEvent })] }
      const field = operation.subscribedField(coerced)
      return field === null ? { errors: [noStream()] } : { field, variables: coerced }
    },
  }
}

/** A client's operation, with its variables. */
interface CheckedOperation {
  readonly operation: PreparedOperation
  readonly coerced: Variables
}

interface Refused {
  readonly errors: readonly GraphQLError[]
}

type Variables = Readonly<Record<string, unknown>>
