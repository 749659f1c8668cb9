import {
  type ASTNode,
  BREAK,
  type DocumentNode,
  type FieldNode,
  getVariableValues,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql'

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

/** Returns whether a variable occurs in any of these nodes. */
export function usesVariables(nodes: readonly ASTNode[]): boolean {
  return nodes.some((node) => {
    let isUsed = false
    visit(node, {
      Variable: () => {
        isUsed = true
        return BREAK
      },
    })
    return isUsed
  })
}

/** Counts the aliases and directives of an operation and of all fragments of its document. */
export function countNodes(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): { readonly aliases: number; readonly directives: number } {
  let aliases = 0
  let directives = 0
  const count = {
    Field: ({ alias }: FieldNode) => void (alias && aliases++),
    Directive: () => void directives++,
  }
  visit(operation, count)
  for (const node of document.definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) visit(node, count)
  return { aliases, directives }
}
