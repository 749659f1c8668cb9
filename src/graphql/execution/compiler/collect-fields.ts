import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { NotCompilable } from './compiled-field.ts'

/** A node that @skip or @include may exclude. */
export type Conditional = FieldNode | InlineFragmentNode | FragmentSpreadNode

/**
 * Collects the fields of an object type by response key, from selections and from the fragments in them that apply to
 * it.
 * @throws {NotCompilable} if a fragment is not in the document
 */
export type CollectFields = (
  type: GraphQLObjectType,
  selectionSets: readonly SelectionSetNode[],
) => ReadonlyMap<string, readonly FieldNode[]>

/**
 * Returns the field collector of a document.
 * @param isIncluded whether @skip and @include include a node in the operation
 * @see https://spec.graphql.org/October2021/#CollectFields()
 */
export function fieldCollector(
  schema: GraphQLSchema,
  { definitions }: DocumentNode,
  isIncluded: (node: Conditional) => boolean,
): CollectFields {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)

  return (type, selectionSets) => {
    const fields = new Map<string, FieldNode[]>()
    // Each named fragment is collected once: fields with the same key are one field.
    const spread = new Set<string>()
    const collect = ({ selections }: SelectionSetNode): void => {
      for (const node of selections) {
        if (!isIncluded(node)) continue
        if (node.kind === Kind.FIELD) add(fields, node)
        else if (node.kind === Kind.INLINE_FRAGMENT) collectFragment(node)
        else if (!spread.has(node.name.value)) {
          spread.add(node.name.value)
          collectFragment(fragments.get(node.name.value))
        }
      }
    }
    const collectFragment = (fragment: InlineFragmentNode | FragmentDefinitionNode | undefined): void => {
      if (fragment === undefined) throw new NotCompilable()
      const condition = fragment.typeCondition?.name.value
      if (condition === undefined || appliesTo(schema, condition, type)) collect(fragment.selectionSet)
    }
    selectionSets.forEach(collect)
    return fields
  }
}

/**
 * Returns whether a fragment applies to an object type.
 * @param condition name of the fragment's type condition
 */
function appliesTo(schema: GraphQLSchema, condition: string, type: GraphQLObjectType): boolean {
  if (condition === type.name) return true
  const conditional = schema.getType(condition)
  return isAbstractType(conditional) && schema.isSubType(conditional, type)
}

function add(fields: Map<string, FieldNode[]>, node: FieldNode): void {
  const key = (node.alias ?? node.name).value
  const same = fields.get(key)
  if (same === undefined) fields.set(key, [node])
  else same.push(node)
}
