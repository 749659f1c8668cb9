import {
  type DirectiveNode,
  type DocumentNode,
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  type OperationDefinitionNode,
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

/** Returns the definitions of an operation's variables of @skip and @include whose type permits null. */
export function nullableConditions(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly VariableDefinitionNode[] {
  const nullable = (operation.variableDefinitions ?? []).filter(({ type }) => type.kind !== Kind.NON_NULL_TYPE)
  if (nullable.length === 0) return []
  const conditions = directiveVariables(document, operation)
  return nullable.filter(({ variable }) => conditions.has(variable.name.value))
}
