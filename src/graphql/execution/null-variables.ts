import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  ValidationContext,
  type VariableDefinitionNode,
} from 'graphql'

/**
 * Returns a function that finds the variables of an operation whose type permits null, although they are used where
 * null is not allowed. GraphQL permits this for variables with a default value.
 */
export function nullableVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
): (operation: OperationDefinitionNode) => readonly VariableDefinitionNode[] {
  // The context visits each fragment once for all operations.
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
 * Returns the error of a variable that is null where null is not allowed. graphql-js would report it at each object
 * with such a field or directive, and coerce the arguments again each time.
 * @param definitions as returned by `nullableVariables`
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
