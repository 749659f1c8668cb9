import { execute, type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql'
import { admissionLimits, preparationCosts, type QueryLimits } from '../../limits.ts'
import type { Cancellation } from '../../database/cancellation.ts'
import type { AdmissionControl } from './admission/admission-control.ts'
import type { SeparatePart } from './compiler/compile-operation.ts'
import { JsonText } from './compiler/json-text.ts'
import type { RunConsistently } from './consistent-reads.ts'
import type { Context, RequestContext } from './context.ts'
import { type CoercedVariables, coerceVariables } from './operation.ts'
import { OperationCache, type PreparedDocument } from './operation-cache.ts'
import type { PreparedOperation } from './prepared-operation.ts'
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
}

/** Executes all operations of the gateway: those of GraphQL clients, of the REST paths and of its own pages. */
export interface Executor {
  /**
   * Parses, validates and prices a document, or returns it from the cache.
   * @throws {AdmissionQueueFull} if too many other documents wait for preparation
   */
  prepare(text: string, request: RequestContext): PreparedDocument | Promise<PreparedDocument>
  /** Returns a document of the gateway's own, which is prepared once, whatever clients send. */
  prepareOwn(text: string): PreparedDocument
  /**
   * Runs an operation of a valid document, after admission. Its data is a {@link JsonText} if the compiled operation
   * ran.
   * @throws {AdmissionQueueFull} if too many other operations wait
   * @throws {ReadCancelled} if the request is cancelled while it waits
   */
  run(prepared: PreparedDocument, params: OperationParams, request: RequestContext): Promise<ExecutionResult>
}

/** Creates the executor, with an operation cache of its own. */
export function createExecutor({ schema, limits, admission, runConsistently, onFallback }: ExecutorOptions): Executor {
  const cache = new OperationCache(schema, limits)

  /** Coerces variables; many of them only after admission, because each may take a hash. */
  function coerce(
    { definition }: PreparedOperation,
    { variables }: OperationParams,
    values: number,
    { sender, signal }: RequestContext,
  ): CoercedVariables | Promise<CoercedVariables> {
    const cost = values * preparationCosts.variableValue
    const work = (): CoercedVariables => coerceVariables(schema, definition, variables)
    return cost <= admissionLimits.shortPreparation ? work() : admission.prepare(work, { cost, sender, signal })
  }

  /**
   * Runs the compiled operation; if it fails, graphql-js executes the operation, with the values that loaders have
   * already read. A cancelled operation fails at once.
   */
  async function attempt(
    { definition, document, ...operation }: RunnableOperation,
    { variables, part }: OperationParams,
    contextValue: Context,
    signal: Cancellation | undefined,
  ): Promise<ExecutionResult> {
    const { compiled, coerced } = operation
    if (compiled !== null) {
      try {
        return { data: new JsonText(await compiled.run(undefined, contextValue, coerced)).asData() }
      } catch (error) {
        if (signal?.aborted === true) throw error
        // graphql-js implements GraphQL's rules on nulls, errors and their order.
      }
    }
    onFallback?.(compiled === null ? 'not compiled' : 'error')
    const operationName = definition.name?.value
    const result = await execute({ schema, document, operationName, variableValues: variables, contextValue })
    // graphql-js cannot write the separate part of a REST document; only its errors are of use there.
    if (compiled !== null && part !== undefined && result.errors === undefined)
      throw new Error('An operation failed compiled, and succeeded in graphql-js.')
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

    prepareOwn: (text) => cache.pinned(text),

    async run(prepared, params, request) {
      const operation = prepared.select(params.operationName)
      if (operation === undefined) return { errors: [unknownOperation(params.operationName)] }
      const extent = checkVariables(params.variables, limits)
      const refused = operation.sizeError ?? extent.error
      if (refused !== null) return { errors: [refused] }
      const coercion = coerce(operation, params, extent.values, request)
      const { coerced, error } = coercion instanceof Promise ? await coercion : coercion
      if (error !== undefined) return { errors: [error] }
      const price = operation.costOf(coerced)
      const tooExpensive = checkCost(price, limits)
      if (tooExpensive !== null) return { errors: [tooExpensive] }
      const { cost } = price
      const { definition, document } = operation
      // The context is created after admission: one created before would have an old data version.
      const work = (): Promise<ExecutionResult> => {
        const compiled = operation.compiledFor(coerced, params.part)
        return runConsistently(request, (context) =>
          attempt({ definition, document, compiled, coerced }, params, context, request.signal),
        )
      }
      const ticket = { cost, sender: request.sender, signal: request.signal }
      const isCheap = cost <= admissionLimits.cheapCost
      const result = await (isCheap ? admission.cheap(work, ticket) : admission.expensive(work, ticket))
      if (result.errors !== undefined) request.doNotCache?.()
      return { ...result, extensions: { cost: { figure: cost, most: limits.cost } } }
    },
  }
}

interface RunnableOperation extends Pick<PreparedOperation, 'definition' | 'document'> {
  readonly compiled: ReturnType<PreparedOperation['compiledFor']>
  readonly coerced: Readonly<Record<string, unknown>>
}

/** Returns the error of an unknown operation name, with the messages of graphql-js. */
function unknownOperation(name: string | null | undefined): GraphQLError {
  return new GraphQLError(
    name == null
      ? 'Must provide operation name if query contains multiple operations.'
      : `Unknown operation named "${name}".`,
  )
}
