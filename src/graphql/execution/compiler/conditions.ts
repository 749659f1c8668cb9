import {
  type DocumentNode,
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
} from 'graphql'
import type { Conditional } from './collect-fields.ts'
import { NotCompilable } from './compiled-field.ts'
import { directiveVariables } from '../syntax-tree.ts'

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

/** Returns the definitions of the variables used by @skip and @include, which are Boolean in a valid document. */
export function conditionsOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly VariableDefinitionNode[] {
  const { variableDefinitions = [] } = operation
  if (variableDefinitions.length === 0) return []
  const conditions = directiveVariables(document, operation)
  return variableDefinitions.filter(({ variable }) => conditions.has(variable.name.value))
}
