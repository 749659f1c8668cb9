import {
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

/** What one execution's fields share. */
export interface Run {
  readonly context: unknown
  readonly variables: Readonly<Record<string, unknown>>
}

/** An operation whose fields, arguments and types are worked out. */
export interface Plan {
  readonly operation: OperationDefinitionNode
  /** Gives the data, or fails: what the failure means for the answer, the plan doesn't know. */
  readonly run: Complete
}

/** Makes of a value that a resolver gave what stands in the answer, or a promise of it. */
type Complete = (value: unknown, run: Run) => unknown

interface FieldPlan {
  readonly key: string
  readonly resolve: (source: unknown, args: Record<string, unknown>, context: unknown) => unknown
  readonly argsOf: (run: Run) => Record<string, unknown>
  readonly complete: Complete
}

/** A document has what plans don't know. */
class Unplannable extends Error {
  override readonly name = 'Unplannable'
}

/** What a field has to give, and was null or of another kind. */
class Unexpected extends Error {
  override readonly name = 'Unexpected'
}

/**
 * Plans an operation of a valid document.
 * @returns null where it has directives, introspection, abstract types or resolvers that ask how they are asked
 */
export function planOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Plan | null {
  const root = schema.getQueryType()
  if (operation.operation !== OperationTypeNode.QUERY || root == null || hasDirectives(document)) return null
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
    for (const selectionSet of selectionSets) this.#collect(selectionSet, nodes)
    return objectOf(Array.from(nodes, ([key, same]) => this.#field(type, key, same)))
  }

  /** Without abstract types every fragment applies; fields with the same key are one field. */
  #collect({ selections }: SelectionSetNode, nodes: Map<string, FieldNode[]>): void {
    for (const node of selections) {
      if (node.kind !== Kind.FIELD) this.#collect(this.#selectionOf(node), nodes)
      else {
        const key = (node.alias ?? node.name).value
        // It would be the object's prototype.
        if (key === '__proto__') throw new Unplannable()
        nodes.set(key, [...(nodes.get(key) ?? []), node])
      }
    }
  }

  #selectionOf(node: Exclude<SelectionSetNode['selections'][number], FieldNode>): SelectionSetNode {
    const selection =
      node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : this.#fragments.get(node.name.value)?.selectionSet
    if (selection === undefined) throw new Unplannable()
    return selection
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

  #complete(type: GraphQLOutputType, nodes: readonly FieldNode[]): Complete {
    const nullable = isNonNullType(type) ? type.ofType : type
    const complete = this.#completeThere(nullable, nodes)
    return isNonNullType(type) ? present(complete) : orNull(complete)
  }

  /** Completes what isn't null. */
  #completeThere(type: GraphQLOutputType, nodes: readonly FieldNode[]): Complete {
    if (isListType(type)) return listOf(this.#complete(type.ofType, nodes))
    if (isLeafType(type)) return (value) => given(type.serialize(value))
    if (!isObjectType(type)) throw new Unplannable()
    const selectionSets = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    return this.object(type, selectionSets)
  }
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

function hasDirectives(document: DocumentNode): boolean {
  let found = false
  visit(document, { Directive: () => void (found = true) })
  return found
}

/** Arguments that no variable has a part in are read once. */
function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): FieldPlan['argsOf'] {
  let hasVariables = false
  for (const argument of node.arguments ?? []) visit(argument, { Variable: () => void (hasVariables = true) })
  if (hasVariables) return ({ variables }) => getArgumentValues(field, node, variables)
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

function objectOf(fields: readonly FieldPlan[]): Complete {
  return (source, run) => {
    const object: Record<string, unknown> = {}
    let pending: Promise<unknown>[] | undefined
    try {
      for (const { key, resolve, argsOf, complete } of fields) {
        const value = whenThere(resolve(source, argsOf(run), run.context), complete, run)
        // A promise holds the place of its value, so that fields stand in the order they were asked in.
        object[key] = value
        if (value instanceof Promise) (pending ??= []).push(value.then((there) => (object[key] = there)))
      }
    } catch (error) {
      throw abandoned(pending, error)
    }
    return pending === undefined ? object : allOf(pending).then(() => object)
  }
}

function listOf(completeItem: Complete): Complete {
  return (value, run) => {
    if (!Array.isArray(value)) throw new Unexpected()
    const items: unknown[] = []
    let pending: Promise<unknown>[] | undefined
    try {
      for (const item of value as unknown[]) {
        const completed = whenThere(item, completeItem, run)
        items.push(completed)
        if (completed instanceof Promise) (pending ??= []).push(completed)
      }
    } catch (error) {
      throw abandoned(pending, error)
    }
    return pending === undefined ? items : Promise.all(items)
  }
}

function whenThere(value: unknown, complete: Complete, run: Run): unknown {
  return value instanceof Promise ? value.then((there) => complete(there, run)) : complete(value, run)
}

/** Nobody waits for these any more: what they fail with is told by the one that failed first. */
function abandoned(pending: readonly Promise<unknown>[] | undefined, error: unknown): unknown {
  for (const promise of pending ?? []) promise.catch(() => undefined)
  return error
}

function allOf(pending: Promise<unknown>[]): Promise<unknown> {
  return pending.length === 1 ? (pending[0] as Promise<unknown>) : Promise.all(pending)
}

function present(complete: Complete): Complete {
  return (value, run) => {
    if (value == null) throw new Unexpected()
    return complete(value, run)
  }
}

function orNull(complete: Complete): Complete {
  return (value, run) => (value == null ? null : complete(value, run))
}

function given(serialized: unknown): unknown {
  if (serialized == null) throw new Unexpected()
  return serialized
}
