import { type ExecutionResult, type GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql'
import { preparationCosts, type QueryLimits } from '../../limits.ts'
import { subscriptionLimits } from '../../limits/live.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import { OperationChecks } from './operation-checks.ts'
import type { CompiledOperation } from './compiler/compiled-operation.ts'
import { JsonText } from './compiler/json-text.ts'
import type { RunConsistently } from './consistent-reads.ts'
import type { ExecutionObserver, RequestContext } from './context.ts'
import { noMutation, noStream, noSubscribedField, publicErrors } from './errors.ts'
import { FallbackQueue } from './admission/fallback-queue.ts'
import type { ExecutedDocument, FixedDocument, FixedDocumentExecutor } from './fixed-document.ts'
import { OperationCache, type PreparedDocument } from './operation-cache.ts'
import type { OperationParams, PreparedOperation, RunnableOperation, SubscribedField } from './prepared-operation.ts'
import { countTokens } from './query-limits.ts'

export interface ExecutorOptions {
  readonly schema: GraphQLSchema
  readonly limits: QueryLimits
  readonly admission: AdmissionControl
  readonly runConsistently: RunConsistently
  readonly observer?: ExecutionObserver | undefined
}

/** A subscription whose events may be run, or the errors for which it is refused. */
export type SubscriptionCheck =
  | {
      readonly field: SubscribedField
      readonly variables: Variables
      readonly errors?: undefined
    }
  | { readonly errors: readonly GraphQLError[] }

/** Executes all operations of the gateway: those of GraphQL clients, of the REST paths and of its own pages. */
export interface Executor extends FixedDocumentExecutor {
  /**
   * Parses and validates a document, and computes its cost, or returns it from the cache.
   * @throws {AdmissionQueueFull} if too many other documents wait for preparation
   */
  prepare(text: string, requestContext: RequestContext): PreparedDocument | Promise<PreparedDocument>
  /**
   * Runs an operation of a valid document, after admission. Its data is a {@link JsonText} if the compiled operation
   * ran; its errors are not public yet.
   * @throws {AdmissionQueueFull} if too many other operations wait
   * @throws {ReadCancelled} if the request is cancelled while it waits
   */
  run(prepared: PreparedDocument, params: OperationParams, requestContext: RequestContext): Promise<ExecutionResult>
  /**
   * Checks a subscription like `run` before execution, but with a smaller cost limit, and selects its field.
   * @throws {AdmissionQueueFull} if too many other operations wait for preparation
   */
  checkSubscription(
    prepared: PreparedDocument,
    params: OperationParams,
    requestContext: RequestContext,
  ): Promise<SubscriptionCheck>
}

/**
 * Maximum length of a text whose tokens are counted. To read 20,000 characters takes some milliseconds, also where they are
 * one token: a longer text is admitted as one of the most tokens.
 */
const countedCharacters = 2_500

/** Creates the executor, with a separate operation cache. */
export function createExecutor(options: ExecutorOptions): Executor {
  return new OperationExecutor(options)
}

/** The operation of a fixed document, and its compiled form. */
interface FixedOperation {
  readonly operation: PreparedOperation
  readonly compiled: CompiledOperation
}

class OperationExecutor implements Executor {
  readonly #limits: QueryLimits
  readonly #admission: AdmissionControl
  readonly #runConsistently: RunConsistently
  readonly #cache: OperationCache
  readonly #checks: OperationChecks
  readonly #fallbacks: FallbackQueue
  /** Operations of fixed documents, each compiled once; never evicted. */
  readonly #fixed = new Map<FixedDocument, FixedOperation>()

  constructor({ schema, limits, admission, runConsistently, observer }: ExecutorOptions) {
    this.#limits = limits
    this.#admission = admission
    this.#runConsistently = runConsistently
    this.#cache = new OperationCache(schema, limits)
    this.#checks = new OperationChecks(limits, admission)
    this.#fallbacks = new FallbackQueue(admission, observer)
  }

  prepare(text: string, { sender, signal }: RequestContext): PreparedDocument | Promise<PreparedDocument> {
    const known = this.#cache.get(text, sender)
    if (known !== undefined) return known
    const ticket = { cost: this.#tokensIn(text) * preparationCosts.token, sender, signal }
    return this.#admission.runPreparation(
      () => this.#cache.get(text, sender) ?? this.#cache.prepare(text, sender),
      ticket,
    )
  }

  /** Returns the number of tokens by which a text is admitted: 0 of one that is refused for its length. */
  #tokensIn(text: string): number {
    const { bytes, tokens: maxTokens } = this.#limits
    if (Buffer.byteLength(text) > bytes) return 0
    return text.length > countedCharacters ? maxTokens : Math.min(countTokens(text, maxTokens), maxTokens)
  }

  async run(
    prepared: PreparedDocument,
    params: OperationParams,
    requestContext: RequestContext,
  ): Promise<ExecutionResult> {
    const checked = await this.#checks.check(prepared, params, requestContext, this.#limits.cost)
    if (checked.errors !== undefined) return checked
    return this.#admitAndRun(checked, params, requestContext)
  }

  async runFixed(
    document: FixedDocument,
    variables: Variables,
    requestContext: RequestContext,
    event?: OperationParams['event'],
  ): Promise<ExecutedDocument> {
    const { operation, compiled } = this.#fixed.get(document) ?? this.#prepareFixed(document)
    const { coerced, error } = operation.coerce(variables)
    const { data, errors } =
      error === undefined
        ? await this.#admitAndRun(
            { operation, coerced, cost: operation.costOf(coerced), compiledFixed: compiled },
            { variables, event },
            requestContext,
          )
        : { data: null, errors: [error] }
    if (errors !== undefined) return { body: null, envelope: 'null', errors: publicErrors(errors, requestContext) }
    if (!(data instanceof JsonText))
      throw new Error('An operation of the gateway itself was not answered by its compiled form.')
    return { body: data.body, envelope: data.text }
  }

  async checkSubscription(
    prepared: PreparedDocument,
    params: OperationParams,
    requestContext: RequestContext,
  ): Promise<SubscriptionCheck> {
    const checked = await this.#checks.check(prepared, params, requestContext, this.#maxCostOfEvent)
    if (checked.errors !== undefined) return checked
    const field = checked.operation.subscribedField(checked.coerced)
    return field === null ? { errors: [noSubscribedField()] } : { field, variables: checked.coerced }
  }

  /** Maximum cost of a subscription, whose operation runs for each event. */
  get #maxCostOfEvent(): number {
    return Math.min(this.#limits.cost, subscriptionLimits.cost)
  }

  /** @throws if the document is invalid, or cannot be compiled */
  #prepareFixed(document: FixedDocument): FixedOperation {
    const { operations, errors } = this.#cache.fixed(document.text.toString())
    const [operation] = operations
    if (operation === undefined) throw errors[0] ?? new Error('The document has no operation.')
    const compiled = operation.compileFixed(document)
    if (compiled === null) throw new Error('A document of the gateway itself cannot be compiled.')
    const fixed = { operation, compiled }
    this.#fixed.set(document, fixed)
    return fixed
  }

  async #admitAndRun(
    { operation, coerced, cost, compiledFixed }: RunnableOperation,
    params: OperationParams,
    requestContext: RequestContext,
  ): Promise<ExecutionResult> {
    const kind = operation.definition.operation
    if (kind === OperationTypeNode.MUTATION) return { errors: [noMutation()] }
    if (kind === OperationTypeNode.SUBSCRIPTION && params.event === undefined) return { errors: [noStream()] }
    const { sender, signal } = requestContext
    const { units, hasLongReads } = cost
    // The context is created after admission: a waiting operation holds no loaders.
    const work = (): Promise<ExecutionResult> =>
      this.#runConsistently(requestContext, (context) =>
        operation.execute({ coerced, cost, compiledFixed }, params, context, requestContext, this.#fallbacks),
      )
    const result = await this.#admission.run(work, { cost: units, hasLongReads, sender, signal })
    const most = params.event === undefined ? this.#limits.cost : this.#maxCostOfEvent
    result.extensions = { cost: { figure: units, most } }
    return result
  }
}

type Variables = Readonly<Record<string, unknown>>
