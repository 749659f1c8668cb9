import {
  type ASTNode,
  BREAK,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLCompositeType,
  type GraphQLField,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
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

/** Returns the names of the variables in the directives of an operation and of the fragments that it uses. */
export function directiveVariables(document: DocumentNode, operation: OperationDefinitionNode): ReadonlySet<string> {
  const names = new Set<string>()
  const spread = new Set<string>()
  const definitions = new Set<ASTNode>([operation])
  const collect = {
    Directive: (node: DirectiveNode) => {
      for (const { value } of node.arguments ?? []) if (value.kind === Kind.VARIABLE) names.add(value.name.value)
    },
    FragmentSpread: ({ name }: FragmentSpreadNode) => void spread.add(name.value),
  }
  // A set that grows while it is iterated: fragments use further fragments.
  for (const definition of definitions) {
    visit(definition, collect)
    for (const node of document.definitions) {
      if (node.kind === Kind.FRAGMENT_DEFINITION && spread.has(node.name.value)) definitions.add(node)
    }
  }
  return names
}

/** Returns the definition of a field of a type, or of introspection; undefined if there is none. */
export function definitionOf(name: string, parent: GraphQLCompositeType): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef
  return 'getFields' in parent ? parent.getFields()[name] : undefined
}
