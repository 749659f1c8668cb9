import {
  type DocumentNode,
  getVariableValues,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'

/**
 * The operation of a valid document that a request asks for; undefined where there is none of that name, or where there are
 * several and no name is given.
 */
export function operationOf(
  document: DocumentNode,
  operationName: string | null | undefined,
): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
  if (operationName != null) return operations.find(({ name }) => name?.value === operationName)
  return operations.length === 1 ? operations[0] : undefined
}

/** Coerced variables, or the first of their errors. */
export type CoercedVariables =
  | { readonly coerced: Readonly<Record<string, unknown>>; readonly error?: undefined }
  | { readonly coerced?: undefined; readonly error: GraphQLError }

/**
 * Coerces the variables of an operation, and stops at the first error: each further one takes as long as the value at fault
 * is large.
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
