import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getNamedType,
  getNullableType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  isCompositeType,
  isLeafType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql'
import { admissionLimits, assumedLengths, ledgerCountCost, readCost } from '../../limits.ts'

/** What running a query would take, at most. */
export interface QueryCost {
  /** Levels of fields. */
  readonly depth: number
  readonly aliases: number
  readonly directives: number
  /** Fields that the answer may have: a list counts its selection once for each item. */
  readonly cost: number
  /** The lists whose length can be chosen on the way to what costs most, from the outside in, such as `vaults(first: 200)`. */
  readonly dearest: readonly string[]
}

export interface OperationCost {
  readonly schema: GraphQLSchema
  /** A valid one. */
  readonly document: DocumentNode
  /** The operation of it that would run. */
  readonly operation: OperationDefinitionNode
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>
}

/** Measures the operation that would run, with the fragments it uses. */
export function queryCost({ schema, document, operation, variables }: OperationCost): QueryCost {
  const root = schema.getRootType(operation.operation)
  const extent = root == null ? nothing : new Meter(schema, document, variables).selection(operation.selectionSet, root)
  return { ...extent, ...nodesOf(document, operation) }
}

/** How deep a selection goes, how many fields it gives and by which lists the most of them, from where it stands. */
type Extent = Pick<QueryCost, 'depth' | 'cost' | 'dearest'>

const nothing: Extent = { depth: 0, cost: 0, dearest: [] }

class Meter {
  readonly #fragments = new Map<string, FragmentDefinitionNode>()
  /** A fragment is measured once, so that fragments in fragments take no more time than their text is long. */
  readonly #measured = new Map<string, Extent>()

  constructor(
    readonly schema: GraphQLSchema,
    document: DocumentNode,
    readonly variables: Readonly<Record<string, unknown>>,
  ) {
    for (const node of document.definitions) {
      if (node.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(node.name.value, node)
    }
  }

  /** @param page how many items the nodes or edges of a connection have, where the selection is of one */
  selection({ selections }: SelectionSetNode, parent: GraphQLCompositeType, page = 1): Extent {
    let depth = 0
    let cost = 0
    let dearest = nothing
    for (const node of selections) {
      const extent =
        node.kind === Kind.FIELD
          ? this.#field(node, parent, page)
          : node.kind === Kind.FRAGMENT_SPREAD
            ? this.#fragment(node.name.value, page)
            : this.#conditional(node.selectionSet, node.typeCondition?.name.value, parent, page)
      depth = Math.max(depth, extent.depth)
      cost += extent.cost
      if (extent.cost > dearest.cost) dearest = extent
    }
    return { depth, cost, dearest: dearest.dearest }
  }

  #fragment(name: string, page: number): Extent {
    const key = `${name} ${page}`
    const known = this.#measured.get(key)
    if (known !== undefined) return known
    const fragment = this.#fragments.get(name)
    const type = fragment && this.schema.getType(fragment.typeCondition.name.value)
    const extent = fragment && isCompositeType(type) ? this.selection(fragment.selectionSet, type, page) : nothing
    this.#measured.set(key, extent)
    return extent
  }

  #conditional(
    selection: SelectionSetNode,
    typeName: string | undefined,
    parent: GraphQLCompositeType,
    page: number,
  ): Extent {
    const type = typeName === undefined ? parent : this.schema.getType(typeName)
    return isCompositeType(type) ? this.selection(selection, type, page) : nothing
  }

  #field(node: FieldNode, parent: GraphQLCompositeType, page: number): Extent {
    const field = this.#definition(node.name.value, parent)
    const type = field && getNamedType(field.type)
    const given = field === undefined || !isPriced(field) ? null : this.#arguments(field, node)
    const asked = given === null ? null : askedLength(given)
    const inner =
      node.selectionSet && isCompositeType(type) ? this.selection(node.selectionSet, type, asked?.length ?? 1) : nothing
    const items = field === undefined || !isListType(getNullableType(field.type)) ? 1 : this.#length(field, asked, page)
    return {
      depth: 1 + inner.depth,
      cost: ownCost(field, parent) + elementsIn(given) + items * inner.cost,
      dearest:
        asked === null ? inner.dearest : [`${field?.name ?? ''}(${asked.argument}: ${asked.length})`, ...inner.dearest],
    }
  }

  #definition(name: string, parent: GraphQLCompositeType): GraphQLField<unknown, unknown> | undefined {
    if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef
    return 'getFields' in parent ? parent.getFields()[name] : undefined
  }

  /** Items of a list: what an argument says, a connection's page, or what is assumed. */
  #length({ name }: GraphQLField<unknown, unknown>, asked: AskedLength | null, page: number): number {
    if (name === 'nodes' || name === 'edges') return page
    return asked?.length ?? assumedLengths[name] ?? 10
  }

  #arguments(field: GraphQLField<unknown, unknown>, node: FieldNode): Record<string, unknown> {
    try {
      return getArgumentValues(field, node, this.variables)
    } catch {
      // A value that can't be is refused by the execution, before it reads anything.
      return {}
    }
  }
}

/** How many items an argument asks for. */
interface AskedLength {
  readonly argument: string
  readonly length: number
}

function askedLength(given: Readonly<Record<string, unknown>>): AskedLength | null {
  const argument = lengthArguments.find((name) => typeof given[name] === 'number')
  return argument === undefined ? null : { argument, length: Math.max(1, given[argument] as number) }
}

/** Elements of all lists in an input value: each is compared with what is read. */
function elementsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.reduce((sum: number, part) => sum + elementsIn(part), Array.isArray(value) ? value.length : 0)
}

/**
 * A list with a length to choose, and a count of one, is a read of its own. The total of a ledger counts its rows.
 * Introspection is never cheap: it is seldom asked for, and large.
 */
function ownCost(field: GraphQLField<unknown, unknown> | undefined, parent: GraphQLCompositeType): number {
  if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) return admissionLimits.cheapCost
  if (field === undefined) return 1
  if (field.name === 'totalCount') return parent.name === 'LedgerConnection' ? ledgerCountCost : readCost
  return hasLength(field) ? readCost : 1
}

const lengthArguments: readonly string[] = ['first', 'points']

function hasLength({ args }: GraphQLField<unknown, unknown>): boolean {
  return args.some(({ name }) => lengthArguments.includes(name))
}

/** Whether its arguments can change what it costs: they choose a length, or take lists. */
function isPriced({ args }: GraphQLField<unknown, unknown>): boolean {
  return args.some(({ name, type }) => lengthArguments.includes(name) || !isLeafType(getNullableType(type)))
}

interface Nodes {
  readonly aliases: number
  readonly directives: number
}

/** They are the same whatever the variables. */
const counted = new WeakMap<OperationDefinitionNode, Nodes>()

function nodesOf(document: DocumentNode, operation: OperationDefinitionNode): Nodes {
  const nodes = counted.get(operation) ?? countNodes(document, operation)
  counted.set(operation, nodes)
  return nodes
}

function countNodes(document: DocumentNode, operation: OperationDefinitionNode): Nodes {
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
