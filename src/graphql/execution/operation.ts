import {
  type ASTNode,
  BREAK,
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql'

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
