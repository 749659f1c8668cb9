import {
  type DocumentNode,
  execute as executeByGraphqlJs,
  type ExecutionResult,
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  type VariableDefinitionNode,
} from 'graphql'
import { operationCacheLimits, type QueryLimits } from '../../limits.ts'
import { subscriptionLimits } from '../../limits/live.ts'
import { type Conditional, fieldCollector } from './compiler/collect-fields.ts'
import { type BodySelection, compileOperation } from './compiler/compile-operation.ts'
import { CompiledVariants, type StoredVariant } from './compiler/compiled-variants.ts'
import { type CompiledOperation, TooLong } from './compiler/compiled-operation.ts'
import { lengthOfText } from './compiler/json-text.ts'
import { includes } from './compiler/conditions.ts'
import type { ResolverContext } from './context.ts'
import type { OperationCost } from './cost/cost-calculator.ts'
import type { QueryCost } from './cost/query-cost.ts'
import { inDocumentOrder } from './errors.ts'
import type { FallbackQueue, WaitingRequest } from './admission/fallback-queue.ts'
import { tooLongResponse } from './query-limits.ts'

type Variables = Readonly<Record<string, unknown>>

/** Parameters of one run of an operation, besides its coerced variables. */
export interface RunParams {
  /** Variables as sent: graphql-js coerces them itself where it executes the operation in place of the compiled one. */
  readonly variables?: Variables | null | undefined
  /** The event of a subscription, which is run once per event, with a smaller limit on the response. */
  readonly event?: { readonly value: unknown } | undefined
}

/** The operation of a document to run. A subscription is refused without an event. */
export interface OperationParams extends RunParams {
  readonly operationName?: string | null | undefined
}

/** An operation that may run, with its coerced variables, and its cost with these. */
export interface RunnableOperation {
  readonly operation: PreparedOperation
  readonly coerced: Variables
  readonly cost: QueryCost
  /** The compiled operation of a fixed document; absent for an operation of a client, whose variant depends on its variables. */
  readonly compiledFixed?: CompiledOperation | undefined
}

/** The field that a subscription selects. */
export interface SubscribedField {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** Properties of an operation that follow from its document. */
interface OperationTraits extends Pick<OperationCost, 'cost'> {
  /** Error of the limit on depth, aliases or directives that the operation exceeds, if any. */
  readonly sizeError: GraphQLError | null
  /** Variables whose type permits null, although they are used where null is not allowed. */
  readonly nullableVariables: readonly VariableDefinitionNode[]
}

/** An operation of a valid document, with its cost and its compiled variants. */
export class PreparedOperation {
  /** See {@link OperationTraits}. */
  readonly sizeError: GraphQLError | null
  /** See {@link OperationTraits}. */
  readonly nullableVariables: readonly VariableDefinitionNode[]
  readonly #schema: GraphQLSchema
  readonly #limits: QueryLimits
  readonly #cost: OperationCost['cost']
  readonly #variants: CompiledVariants

  /** @param onCompiled called after the compilation of each variant, when `compiledFields` has grown */
  constructor(
    { schema, limits }: { readonly schema: GraphQLSchema; readonly limits: QueryLimits },
    readonly document: DocumentNode,
    readonly definition: OperationDefinitionNode,
    { cost, sizeError, nullableVariables }: OperationTraits,
    onCompiled: () => void,
  ) {
    this.#schema = schema
    this.#limits = limits
    this.#cost = cost
    this.sizeError = sizeError
    this.#variants = new CompiledVariants({ schema, document, definition }, onCompiled)
    this.nullableVariables = nullableVariables
  }

  /**
   * Returns the name and the arguments of the only field of a subscription.
   * @param variables coerced
   * @returns null if the operation is not a subscription, or if @skip or @include leave no field
   */
  subscribedField(variables: Variables): SubscribedField | null {
    const { operation, selectionSet } = this.definition
    const root = operation === OperationTypeNode.SUBSCRIPTION ? this.#schema.getSubscriptionType() : null
    if (root == null) return null
    const collect = fieldCollector(this.#schema, this.document, (node) => includes(node, variables))
    const [node] = [...collect(root, [selectionSet]).values()].flat()
    const field = node && root.getFields()[node.name.value]
    return node && field ? { name: field.name, args: getArgumentValues(field, node, variables) } : null
  }

  /**
   * Coerces the variables as sent, and stops at the first error: each error takes time linear in the value that it
   * reports.
   */
  coerce(variables: Variables | null | undefined): CoercedVariables {
    const { variableDefinitions = [] } = this.definition
    const options = { maxErrors: 1 }
    const { coerced, errors = [] } = getVariableValues(this.#schema, variableDefinitions, variables ?? {}, options)
    if (coerced !== undefined) return { coerced }
    return { error: errors[0] ?? new GraphQLError('The variables cannot be coerced.') }
  }

  /** Returns the cost of the operation with these variables, which are coerced. */
  costOf(variables: Variables): QueryCost {
    return typeof this.#cost === 'function' ? this.#cost(variables) : this.#cost
  }

  /**
   * Executes the compiled operation; if it fails, graphql-js executes the operation, with the values that loaders have
   * already read. A cancelled operation fails immediately. The data is a `JsonText` if the compiled operation ran; a
   * response that is too long is replaced by an error.
   */
  async execute(
    { coerced, cost, compiledFixed }: Pick<RunnableOperation, 'coerced' | 'cost' | 'compiledFixed'>,
    { variables, event }: RunParams,
    context: ResolverContext,
    requestContext: WaitingRequest,
    fallbacks: FallbackQueue,
  ): Promise<ExecutionResult> {
    const stored = compiledFixed ?? this.compiledFor(coerced)
    const compiled = stored === 'no place' ? await this.#compiledForRun(coerced, requestContext, fallbacks) : stored
    const { responseCharacters } = this.#limits
    const maxCharacters =
      event === undefined ? responseCharacters : Math.min(responseCharacters, subscriptionLimits.responseCharacters)
    if (compiled !== null) {
      try {
        const data: object = await compiled.write(event?.value, context, coerced, maxCharacters)
        return { data: data as Record<string, unknown> }
      } catch (error) {
        if (requestContext.signal?.aborted === true) throw error
        if (error instanceof TooLong) return { errors: [tooLongResponse(error.characters, maxCharacters)] }
        // The error is discarded: graphql-js runs the same resolvers next, and tells it by GraphQL's rules on nulls and order.
      }
    }
    const { document, definition } = this
    const args = { schema: this.#schema, document, operationName: definition.name?.value, rootValue: event?.value }
    const reason = compiled === null ? 'not compiled' : 'error'
    const result = await fallbacks.execute(reason, cost.units, requestContext, () =>
      executeByGraphqlJs({ ...args, variableValues: variables, contextValue: context }),
    )
    // graphql-js cannot write the body of a REST response: only its errors are used.
    if (compiledFixed !== undefined && result.errors === undefined)
      throw new Error('An operation failed compiled, and succeeded in graphql-js.')
    const length = lengthOfText(result.data, maxCharacters)
    if (length > maxCharacters) return { errors: [tooLongResponse(length, maxCharacters)] }
    return result.errors === undefined ? result : { ...result, errors: inDocumentOrder(result.errors) }
  }

  /** Number of fields of all compiled variants. */
  get compiledFields(): number {
    return this.#variants.fields
  }

  /**
   * Compiles the operation for these variables, or returns the variant compiled before.
   * @param variables coerced
   */
  compiledFor(variables: Variables): StoredVariant {
    return this.#variants.get(variables)
  }

  /**
   * Compiles the operation of a fixed document, which has no variables in @skip and @include.
   * @param body part of the data that is written separately
   * @returns null if it cannot be compiled
   */
  compileFixed(body: BodySelection): CompiledOperation | null {
    const { definition, document } = this
    const isIncluded = (node: Conditional): boolean => includes(node, {})
    return compileOperation(this.#schema, document, definition, isIncluded, operationCacheLimits.fields, body)
  }

  /**
   * Compiles a small operation for one run where other variants have taken all places, in its sender's turn: otherwise one client
   * could slow down all others that send its text, by eight unusual combinations of its variables.
   * @returns null if it is large or cannot be compiled
   */
  async #compiledForRun(
    variables: Variables,
    requestContext: WaitingRequest,
    fallbacks: FallbackQueue,
  ): Promise<CompiledOperation | null> {
    return fallbacks.compile(requestContext, () => this.#variants.compileForRun(variables))
  }
}

/** Coerced variables, or the first error of coercion. */
export type CoercedVariables =
  | { readonly coerced: Variables; readonly error?: undefined }
  | { readonly coerced?: undefined; readonly error: GraphQLError }
