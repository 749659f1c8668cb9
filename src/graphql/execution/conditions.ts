import {
  BREAK,
  type DirectiveNode,
  type DocumentNode,
  getDirectiveValues,
  GraphQLError,
  GraphQLIncludeDirective,
  type GraphQLSchema,
  GraphQLSkipDirective,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  ValidationContext,
  type VariableDefinitionNode,
  visit,
} from 'graphql'
import type { Conditional } from './compiler/collect-fields.ts'
import { NotCompilable } from './compiler/compiled-field.ts'
import { directiveVariables } from './syntax-tree.ts'

/**
 * Evaluates @skip and @include on a node.
 * @throws {NotCompilable} if the condition is null, which is an error of the field
 */
export function includes(node: Conditional, variables: Readonly<Record<string, unknown>>): boolean {
  if (node.directives === undefined || node.directives.length === 0) return true
  try {
    const skip = getDirectiveValues(GraphQLSkipDirective, node, variables)
    const include = getDirectiveValues(GraphQLIncludeDirective, node, variables)
    return skip?.['if'] !== true && include?.['if'] !== false
  } catch {
    throw new NotCompilable()
  }
}

/** Returns whether all directives of a document are @skip and @include. */
export function hasOnlyConditions(document: DocumentNode): boolean {
  let hasOther = false
  visit(document, {
    Directive: ({ name }: DirectiveNode) => {
      if (name.value === GraphQLSkipDirective.name || name.value === GraphQLIncludeDirective.name) return undefined
      hasOther = true
      return BREAK
    },
  })
  return !hasOther
}

/**
 * Returns a function that finds those variables of an operation whose type permits null, and a place of which does not: a
 * default value allows for that.
 */
export function nullableVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
): (operation: OperationDefinitionNode) => readonly VariableDefinitionNode[] {
  // It looks through each fragment once for all operations.
  const context = new ValidationContext(schema, document, new TypeInfo(schema), () => undefined)
  return (operation) => {
    const nullable = operation.variableDefinitions?.filter(({ type }) => type.kind !== Kind.NON_NULL_TYPE) ?? []
    if (nullable.length === 0) return []
    const required = new Set<string>()
    for (const { node, type } of context.getRecursiveVariableUsages(operation)) {
      if (isNonNullType(type)) required.add(node.name.value)
    }
    return nullable.filter(({ variable }) => required.has(variable.name.value))
  }
}

/**
 * Returns the error of a variable that is null where null is not allowed. graphql-js would report it at each object with
 * such a field or directive: as many errors as the response has objects, for each of which it coerces the arguments again.
 * @param definitions those of `nullableVariables`
 * @param variables coerced
 */
export function nullError(
  definitions: readonly VariableDefinitionNode[],
  variables: Readonly<Record<string, unknown>>,
): GraphQLError | null {
  const nodes = definitions.find(({ variable }) => variables[variable.name.value] === null)
  if (nodes === undefined) return null
  const message = `Variable "$${nodes.variable.name.value}" must not be null: a place of it does not allow null.`
  return new GraphQLError(message, { nodes })
}

/** Returns the definitions of an operation's variables of @skip and @include, which are Boolean in a valid document. */
export function conditionsOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly VariableDefinitionNode[] {
  const { variableDefinitions = [] } = operation
  if (variableDefinitions.length === 0) return []
  const conditions = directiveVariables(document, operation)
  return variableDefinitions.filter(({ variable }) => conditions.has(variable.name.value))
}
