import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLSchema,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { countNodes, definitionOf } from '../syntax-tree.ts'
import {
  argumentCost,
  type AskedLength,
  askedLength,
  filterCost,
  type GivenArguments,
  givenArguments,
  isOfPage,
  lengthOf,
  noPage,
  ownCost,
  type PricedPage,
  textCost,
} from './field-cost.ts'

/** Size of an operation, independent of its variables. */
export interface QuerySize {
  /** Number of nested field levels. */
  readonly depth: number
  readonly aliases: number
  readonly directives: number
}

/** Upper bound on the cost of an operation with certain variables. */
export interface QueryCost {
  /** Maximum number of fields in the response: a list counts its selection once for each item. */
  readonly cost: number
  /**
   * Lists with a length argument on the path to the most expensive field, outermost first, such as `vaults(first:
   * 200)`.
   */
  readonly mostExpensive: readonly string[]
}

/** Price of one operation: its size, and its cost, or a function from coerced variables to its cost. */
export interface OperationPrice {
  readonly size: QuerySize
  readonly cost: QueryCost | ((variables: Readonly<Record<string, unknown>>) => QueryCost)
}

type PriceOperation = (operation: OperationDefinitionNode) => OperationPrice

/**
 * Returns a function that prices the operations of a valid document; a fragment is priced once for all of them. Costs
 * that do not depend on variables are computed once, here. @skip and @include do not change the cost of a selection.
 */
export function pricing(schema: GraphQLSchema, document: DocumentNode): PriceOperation {
  const pricer = new Pricer(schema, document)
  const ofFragments = countNodes(document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION))
  return (operation) => {
    const root = schema.getRootType(operation.operation)
    const { depth, cost } = root == null ? nothing : pricer.selection(operation.selectionSet, root)
    const own = countNodes([operation])
    const [aliases, directives] = [own.aliases + ofFragments.aliases, own.directives + ofFragments.directives]
    return {
      size: { depth, aliases, directives },
      cost: typeof cost === 'function' ? (variables) => cost(new Computation(variables), noPage) : cost,
    }
  }
}

/** One computation of a cost. */
class Computation {
  /** Costs of fragments by page, memoized so that nested fragments take time linear in their text. */
  readonly known = new Map<PricedSelection, Map<string, QueryCost>>()
  /** Costs of fields without their page: in a fragment they are equal for all pages that use it. */
  readonly fields = new Map<FieldNode, FieldCost>()

  constructor(readonly variables: Readonly<Record<string, unknown>>) {}
}

/** The cost of a field without its page: requested length, cost of arguments, and cost of one item. */
interface FieldCost {
  readonly asked: AskedLength | null
  readonly ofArguments: number
  readonly each: QueryCost
}

/** Computes the cost of a selection, in the page of a connection if there is one. */
type CostFunction = (computation: Computation, page: PricedPage) => QueryCost

/** A priced selection or field: a constant cost, or a function of variables and of the page that contains it. */
interface PricedSelection {
  readonly depth: number
  readonly cost: QueryCost | CostFunction
  readonly usesVariables: boolean
}

const free: QueryCost = { cost: 0, mostExpensive: [] }
const nothing: PricedSelection = { depth: 0, cost: free, usesVariables: false }

function costAt({ cost }: PricedSelection, computation: Computation, page: PricedPage): QueryCost {
  return typeof cost === 'function' ? cost(computation, page) : cost
}

const isConstant = ({ cost }: PricedSelection): boolean => typeof cost !== 'function'

class Pricer {
  readonly #fragments = new Map<string, FragmentDefinitionNode>()
  readonly #priced = new Map<string, PricedSelection>()
  /** Computation of costs that do not depend on variables. It refers to the document, and must not outlive it. */
  readonly #constants = new Computation({})

  constructor(
    readonly schema: GraphQLSchema,
    document: DocumentNode,
  ) {
    for (const node of document.definitions) {
      if (node.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(node.name.value, node)
    }
  }

  selection({ selections }: SelectionSetNode, parent: GraphQLCompositeType): PricedSelection {
    const parts = selections.map((node) => {
      if (node.kind === Kind.FIELD) return this.#field(node, parent)
      if (node.kind === Kind.FRAGMENT_SPREAD) return this.#fragment(node.name.value)
      return this.#conditional(node.selectionSet, node.typeCondition?.name.value ?? parent.name)
    })
    const depth = Math.max(0, ...parts.map((part) => part.depth))
    const constant = sumOf(parts.filter(isConstant).map((part) => part.cost as QueryCost))
    const variable = parts.filter((part) => !isConstant(part))
    if (variable.length === 0) return { depth, cost: constant, usesVariables: false }
    const cost: CostFunction = (computation, page) =>
      sumOf([constant, ...variable.map((part) => costAt(part, computation, page))])
    return { depth, cost, usesVariables: variable.some((part) => part.usesVariables) }
  }

  #fragment(name: string): PricedSelection {
    const known = this.#priced.get(name)
    if (known !== undefined) return known
    const fragment = this.#fragments.get(name)
    const priced = fragment === undefined ? nothing : this.#once(fragment)
    this.#priced.set(name, priced)
    return priced
  }

  /** Prices a fragment, whose cost is computed once for each page. */
  #once({ selectionSet, typeCondition }: FragmentDefinitionNode): PricedSelection {
    const priced = this.#conditional(selectionSet, typeCondition.name.value)
    if (isConstant(priced)) return priced
    const cost: CostFunction = (computation, page) => {
      const byPage = computation.known.get(priced) ?? new Map<string, QueryCost>()
      computation.known.set(priced, byPage)
      const key = `${page.length} ${page.countCost}`
      const known = byPage.get(key) ?? costAt(priced, computation, page)
      byPage.set(key, known)
      return known
    }
    return { ...priced, cost }
  }

  #conditional(selectionSet: SelectionSetNode, typeName: string): PricedSelection {
    const type = this.schema.getType(typeName)
    return isCompositeType(type) ? this.selection(selectionSet, type) : nothing
  }

  #field(node: FieldNode, parent: GraphQLCompositeType): PricedSelection {
    const field = definitionOf(node.name.value, parent)
    if (field === undefined) return { depth: 1, cost: { cost: 1, mostExpensive: [] }, usesVariables: false }
    const type = getNamedType(field.type)
    const inner = node.selectionSet && isCompositeType(type) ? this.selection(node.selectionSet, type) : nothing
    const priced = givenArguments(field, node)
    const ofText = textCost(node, parent)
    const cost: CostFunction = (computation, page) => {
      const { asked, each, ofArguments } = fieldCost(node, priced, inner, computation)
      const length = lengthOf(field, asked, page.length)
      const label = asked === null ? [] : [`${field.name}(${asked.argument}: ${asked.length})`]
      return {
        cost: ownCost(field, page) + ofText + ofArguments + length * each.cost,
        mostExpensive: [...label, ...each.mostExpensive],
      }
    }
    const depth = 1 + inner.depth
    const dependsOnVariables = priced.usesVariables || inner.usesVariables
    return dependsOnVariables || isOfPage(field)
      ? { depth, cost, usesVariables: dependsOnVariables }
      : { depth, cost: cost(this.#constants, noPage), usesVariables: false }
  }
}

/** Computes the page-independent cost of a field, once per computation. */
function fieldCost(
  node: FieldNode,
  priced: GivenArguments,
  inner: PricedSelection,
  computation: Computation,
): FieldCost {
  const known = computation.fields.get(node)
  if (known !== undefined) return known
  const given = priced.valuesFor(computation.variables)
  const asked = askedLength(given)
  const page = { length: asked?.length ?? 1, countCost: filterCost(given).count }
  const cost = { asked, ofArguments: argumentCost(given), each: costAt(inner, computation, page) }
  computation.fields.set(node, cost)
  return cost
}

/** Adds costs; the path to the most expensive field is that of the most expensive part. */
function sumOf(costs: readonly QueryCost[]): QueryCost {
  let most = free
  let cost = 0
  for (const part of costs) {
    cost += part.cost
    if (part.cost > most.cost) most = part
  }
  return { cost, mostExpensive: most.mostExpensive }
}
