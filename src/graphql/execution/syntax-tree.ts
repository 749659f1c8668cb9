import {
  type ASTNode,
  BREAK,
  type DefinitionNode,
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
    let isFound = false
    visit(node, {
      Variable: () => {
        isFound = true
        return BREAK
      },
    })
    return isFound
  })
}

/** Counts the aliases and directives of definitions. */
export function countNodes(definitions: readonly DefinitionNode[]): {
  readonly aliases: number
  readonly directives: number
} {
  let aliases = 0
  let directives = 0
  const count = {
    Field: ({ alias }: FieldNode) => void (alias && aliases++),
    Directive: () => void directives++,
  }
  for (const node of definitions) visit(node, count)
  return { aliases, directives }
}

/** Returns the names of the variables in the directives of an operation and of the fragments that it uses. */
export function directiveVariables(document: DocumentNode, operation: OperationDefinitionNode): ReadonlySet<string> {
  const names = new Set<string>()
  const definitions = new Set<DefinitionNode>([operation])
  const fragments = new Map<string, DefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  }
  // A set that grows while it is iterated: fragments use further fragments.
  for (const definition of definitions) {
    const named = namesIn(definition)
    for (const name of named.variables) names.add(name)
    for (const name of named.spreads) {
      const fragment = fragments.get(name)
      if (fragment !== undefined) definitions.add(fragment)
    }
  }
  return names
}

/** Names in a definition: of variables in directives, and of fragments. */
interface NamesInDefinition {
  readonly variables: ReadonlySet<string>
  readonly spreads: ReadonlySet<string>
}

/** Names of each definition, since all operations of a document can use one long fragment. */
const namesOf = new WeakMap<DefinitionNode, NamesInDefinition>()

function namesIn(definition: DefinitionNode): NamesInDefinition {
  const known = namesOf.get(definition)
  if (known !== undefined) return known
  const variables = new Set<string>()
  const spreads = new Set<string>()
  visit(definition, {
    Directive: (node: DirectiveNode) => {
      for (const { value } of node.arguments ?? []) if (value.kind === Kind.VARIABLE) variables.add(value.name.value)
    },
    FragmentSpread: ({ name }: FragmentSpreadNode) => void spreads.add(name.value),
  })
  const names = { variables, spreads }
  namesOf.set(definition, names)
  return names
}

/** Returns the definition of a field of a type, or of introspection; undefined if there is none. */
export function definitionOf(name: string, parent: GraphQLCompositeType): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef
  return 'getFields' in parent ? parent.getFields()[name] : undefined
}
