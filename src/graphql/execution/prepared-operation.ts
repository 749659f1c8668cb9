import {
  type DirectiveNode,
  type DocumentNode,
  getArgumentValues,
  getDirectiveValues,
  getVariableValues,
  GraphQLError,
  GraphQLIncludeDirective,
  type GraphQLSchema,
  GraphQLSkipDirective,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type VariableDefinitionNode,
  visit,
} from 'graphql'
import { operationCacheLimits, type QueryLimits } from '../../limits.ts'
import { type Conditional, fieldCollector } from './compiler/collect-fields.ts'
import { type CompiledOperation, compileOperation, type SeparatePart } from './compiler/compile-operation.ts'
import { NotCompilable } from './compiler/compiled-field.ts'
import { directiveVariables } from './operation.ts'
import { type OperationPrice, priceOperation, type QueryCost, type QuerySize } from './cost/query-cost.ts'
import { checkSize } from './query-limits.ts'

type Variables = Readonly<Record<string, unknown>>

/** The field that a subscription selects. */
export interface SubscribedField {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** An operation of a valid document, with its price and its compiled variants. */
export class PreparedOperation {
  readonly definition: OperationDefinitionNode
  readonly document: DocumentNode
  /** Error of the limit on depth, aliases or directives that the operation exceeds, if any. */
  readonly sizeError: GraphQLError | null
  readonly #schema: GraphQLSchema
  readonly size: QuerySize
  readonly #cost: OperationPrice['cost']
  /** Names of the variables of @skip and @include; null if graphql-js must evaluate a directive. */
  readonly #conditions: readonly string[] | null
  /** Variables of @skip and @include whose type permits null. */
  readonly #nullableConditions: readonly VariableDefinitionNode[]
  readonly #variants = new Map<SeparatePart | undefined, Map<string, CompiledOperation | null>>()
  #variantCount = 0
  readonly #onCompiled: () => void

  /**
   * Prices the operation; its variants are compiled on first use.
   * @param conditions of its document, by {@link conditionsOf}
   * @param onCompiled called after each variant that is compiled, when `compiledFields` has grown
   */
  constructor(
    schema: GraphQLSchema,
    document: DocumentNode,
    definition: OperationDefinitionNode,
    conditions: readonly string[] | null,
    limits: QueryLimits,
    onCompiled: () => void,
  ) {
    this.#schema = schema
    this.document = document
    this.definition = definition
    const { size, cost } = priceOperation(schema, document, definition)
    this.size = size
    this.#cost = cost
    this.sizeError = checkSize(size, limits)
    this.#conditions = conditions
    this.#nullableConditions = nullableConditions(document, definition)
    this.#onCompiled = onCompiled
  }

  /**
   * Returns the name and the arguments of the only field of a subscription.
   * @param variables coerced
   * @returns null if the operation is no subscription, or if @skip or @include leave no field
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
   * Returns the error of a variable of @skip or @include that is null, which a nullable type with a default permits.
   * graphql-js would report it at each object with such a directive: as many errors as the response has objects.
   * @param variables coerced
   */
  conditionError(variables: Variables): GraphQLError | null {
    for (const definition of this.#nullableConditions) {
      const { value: name } = definition.variable.name
      if (variables[name] !== null) continue
      return new GraphQLError(`Variable "$${name}" of @skip or @include must not be null.`, { nodes: definition })
    }
    return null
  }

  /** Returns the cost of the operation with these variables, which are coerced. */
  costOf(variables: Variables): QueryCost {
    return typeof this.#cost === 'function' ? this.#cost(variables) : this.#cost
  }

  /** Number of fields of all compiled variants. */
  get compiledFields(): number {
    let fields = 0
    for (const variants of this.#variants.values())
      for (const variant of variants.values()) fields += variant?.fields ?? 1
    return fields
  }

  /**
   * Compiles the operation for these variables, or returns the variant compiled before.
   * @param variables coerced; those of @skip and @include select the variant
   * @param part is written separately from the rest of the data
   * @returns null if graphql-js must execute the operation: it cannot be compiled, or has as many variants as it may have
   */
  compiledFor(variables: Variables, part?: SeparatePart): CompiledOperation | null {
    if (this.#conditions === null) return null
    const variants = this.#variants.get(part)
    const key = this.#conditions.map((name) => String(variables[name])).join()
    const known = variants?.get(key)
    if (known !== undefined) return known
    if (this.#variantCount >= operationCacheLimits.variants) return null
    const isIncluded = (node: Conditional): boolean => includes(node, variables)
    const compiled = compileOperation(this.#schema, this.document, this.definition, isIncluded, part)
    if (variants === undefined) this.#variants.set(part, new Map([[key, compiled]]))
    else variants.set(key, compiled)
    this.#variantCount++
    this.#onCompiled()
    return compiled
  }
}

/** Returns the definitions of an operation's variables of @skip and @include whose type permits null. */
function nullableConditions(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly VariableDefinitionNode[] {
  const nullable = (operation.variableDefinitions ?? []).filter(({ type }) => type.kind !== Kind.NON_NULL_TYPE)
  if (nullable.length === 0) return []
  const conditions = directiveVariables(document, operation)
  return nullable.filter(({ variable }) => conditions.has(variable.name.value))
}

/** Coerced variables, or the first error of coercion. */
export type CoercedVariables =
  | { readonly coerced: Readonly<Record<string, unknown>>; readonly error?: undefined }
  | { readonly coerced?: undefined; readonly error: GraphQLError }

/**
 * Coerces the variables of an operation, and stops at the first error: each error takes time linear in the value that
 * it reports.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>> | null | undefined,
): CoercedVariables {
  const { coerced, errors = [] } = getVariableValues(schema, variableDefinitions, variables ?? {}, { maxErrors: 1 })
  if (coerced !== undefined) return { coerced }
  return { error: errors[0] ?? new GraphQLError('The variables cannot be coerced.') }
}

/**
 * Evaluates @skip and @include on a node.
 * @throws {NotCompilable} if the condition is null, which is an error of the field
 */
function includes(node: Conditional, variables: Variables): boolean {
  if (node.directives === undefined || node.directives.length === 0) return true
  try {
    const skip = getDirectiveValues(GraphQLSkipDirective, node, variables)
    const include = getDirectiveValues(GraphQLIncludeDirective, node, variables)
    return skip?.['if'] !== true && include?.['if'] !== false
  } catch {
    throw new NotCompilable()
  }
}

/** Returns the names of the variables of all @skip and @include; null if the document has another directive. */
export function conditionsOf(document: DocumentNode): readonly string[] | null {
  const names = new Set<string>()
  const others: DirectiveNode[] = []
  visit(document, {
    Directive: (node: DirectiveNode) => {
      if (node.name.value !== GraphQLSkipDirective.name && node.name.value !== GraphQLIncludeDirective.name)
        others.push(node)
      for (const { value } of node.arguments ?? []) if (value.kind === Kind.VARIABLE) names.add(value.name.value)
    },
  })
  return others.length > 0 ? null : [...names]
}
