import {
  type ASTNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  visit,
} from 'graphql'
import {
  type Complete,
  type FieldPlan,
  given,
  listOf,
  objectOf,
  onceEach,
  orNull,
  present,
  Unexpected,
} from './complete.ts'

/** An operation whose fields, arguments and types are worked out. */
export interface Plan {
  readonly operation: OperationDefinitionNode
  /** Gives the data, or fails: what the failure means for the answer, the plan doesn't know. */
  readonly run: Complete
}

/** A document has what plans don't know. */
class Unplannable extends Error {
  override readonly name = 'Unplannable'
}

/**
 * Plans an operation of a valid document.
 * @returns null where it has directives, introspection, abstract types or resolvers that ask how they are asked
 */
export function planOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Plan | null {
  const root = schema.getQueryType()
  if (operation.operation !== OperationTypeNode.QUERY || root == null || has(document, Kind.DIRECTIVE)) return null
  try {
    return { operation, run: new Planner(document).object(root, [operation.selectionSet]) }
  } catch (error) {
    if (error instanceof Unplannable) return null
    throw error
  }
}

class Planner {
  readonly #fragments = new Map<string, FragmentDefinitionNode>()

  constructor(document: DocumentNode) {
    for (const node of document.definitions) {
      if (node.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(node.name.value, node)
    }
  }

  object(type: GraphQLObjectType, selectionSets: readonly SelectionSetNode[]): Complete {
    if (type.isTypeOf != null) throw new Unplannable()
    const nodes = new Map<string, FieldNode[]>()
    const spread = new Set<string>()
    for (const selectionSet of selectionSets) this.#collect(selectionSet, nodes, spread)
    return objectOf(Array.from(nodes, ([key, same]) => this.#field(type, key, same)))
  }

  /**
   * Without abstract types every fragment applies, and once is enough: fields with the same key are one field.
   * @param spread names of the fragments that are collected already
   */
  #collect({ selections }: SelectionSetNode, nodes: Map<string, FieldNode[]>, spread: Set<string>): void {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) add(nodes, node)
      else if (node.kind === Kind.INLINE_FRAGMENT) this.#collect(node.selectionSet, nodes, spread)
      else if (!spread.has(node.name.value)) {
        spread.add(node.name.value)
        this.#collect(this.#fragment(node.name.value), nodes, spread)
      }
    }
  }

  #fragment(name: string): SelectionSetNode {
    const fragment = this.#fragments.get(name)
    if (fragment === undefined) throw new Unplannable()
    return fragment.selectionSet
  }

  #field(parent: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): FieldPlan {
    const [node] = nodes as [FieldNode]
    if (node.name.value === '__typename') return constantField(key, parent.name)
    const field = parent.getFields()[node.name.value]
    if (field === undefined) throw new Unplannable()
    return {
      key,
      resolve: resolverOf(field),
      argsOf: argumentsOf(field, node),
      complete: this.#complete(field.type, nodes),
    }
  }

  #complete(type: GraphQLOutputType, nodes: readonly FieldNode[], isItem = false): Complete {
    const nullable = isNonNullType(type) ? type.ofType : type
    const complete = this.#completeThere(nullable, nodes, isItem)
    return isNonNullType(type) ? present(complete) : orNull(complete)
  }

  /** Completes what isn't null. */
  #completeThere(type: GraphQLOutputType, nodes: readonly FieldNode[], isItem: boolean): Complete {
    if (isListType(type)) return listOf(this.#complete(type.ofType, nodes, true))
    if (isLeafType(type)) return (value) => given(type.serialize(value))
    if (!isObjectType(type)) throw new Unplannable()
    const selectionSets = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    const complete = this.object(type, selectionSets)
    // The items of a list are seldom the same, and what has no objects of its own is made as fast as it is found.
    return isItem || !selectionSets.some(isNested) ? complete : onceEach(complete)
  }
}

/** Whether there may be objects in what is selected. */
function isNested({ selections }: SelectionSetNode): boolean {
  return selections.some((node) => node.kind !== Kind.FIELD || node.selectionSet !== undefined)
}

function add(nodes: Map<string, FieldNode[]>, node: FieldNode): void {
  const key = (node.alias ?? node.name).value
  // It would be the object's prototype.
  if (key === '__proto__') throw new Unplannable()
  nodes.set(key, [...(nodes.get(key) ?? []), node])
}

function resolverOf({ name, resolve }: GraphQLField<unknown, unknown>): FieldPlan['resolve'] {
  // A resolver that takes a fourth argument asks how it is asked.
  if (resolve !== undefined && resolve.length > 3) throw new Unplannable()
  return (resolve as FieldPlan['resolve'] | undefined) ?? ((source) => propertyOf(source, name))
}

/** What a field without a resolver gives; a method would be called with all that a resolver is told. */
function propertyOf(source: unknown, name: string): unknown {
  const value = (source as Readonly<Record<string, unknown>>)[name]
  if (typeof value === 'function') throw new Unexpected()
  return value
}

/** Whether there is a node of a kind in another. */
function has(node: ASTNode, kind: Kind): boolean {
  let found = false
  visit(node, { [kind]: () => void (found = true) })
  return found
}

/** Arguments that no variable has a part in are read once. */
function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): FieldPlan['argsOf'] {
  if (node.arguments?.some((argument) => has(argument, Kind.VARIABLE)) === true)
    return ({ variables }) => getArgumentValues(field, node, variables)
  try {
    const args = getArgumentValues(field, node)
    return () => args
  } catch {
    throw new Unplannable()
  }
}

function constantField(key: string, value: string): FieldPlan {
  const none = {}
  return { key, resolve: () => value, argsOf: () => none, complete: (given) => given }
}
