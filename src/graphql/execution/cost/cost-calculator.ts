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
  type RequestedLength,
  requestedLength,
  type GivenArguments,
  givenArguments,
  isCount,
  isOfPage,
  lengthOf,
  noPage,
  ownCost,
  type PageContext,
  textCost,
} from './field-cost.ts'
import { CountedLists } from './list-counts.ts'
import { type LongReads, type LongReadsByArguments, longReadsOf } from './long-reads.ts'
import { noCost, type QueryCost, sumOf } from './query-cost.ts'

/** Size of an operation, independent of its variables. */
export interface QuerySize {
  /** Number of nested field levels. */
  readonly depth: number
  readonly aliases: number
  readonly directives: number
}

/** The size of one operation, and its cost, or a function from coerced variables to its cost. */
export interface OperationCost {
  readonly size: QuerySize
  readonly cost: QueryCost | ((variables: Readonly<Record<string, unknown>>) => QueryCost)
}

type CostOfOperation = (operation: OperationDefinitionNode) => OperationCost

/**
 * Returns a function that computes the costs of the operations of a valid document. The cost of a fragment is
 * computed once for all of them, and costs that do not depend on variables are computed once, here. @skip and @include do not change the cost of a selection.
 */
export function costCalculator(schema: GraphQLSchema, document: DocumentNode): CostOfOperation {
  const calculator = new CostCalculator(schema, document)
  const ofFragments = countNodes(document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION))
  return (operation) => {
    const root = schema.getRootType(operation.operation)
    const { depth, cost } = root == null ? nothing : calculator.selection(operation.selectionSet, root)
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
  readonly known = new Map<SelectionCost, Map<string, QueryCost>>()
  /** Costs of fields without their page: in a fragment they are equal for all pages that use it. */
  readonly fields = new Map<FieldNode, FieldCost>()
  readonly lists = new CountedLists()

  constructor(readonly variables: Readonly<Record<string, unknown>>) {}
}

/** The cost of a field without its page: requested length, long reads, cost of arguments, and cost of one item. */
interface FieldCost {
  readonly requested: RequestedLength | null
  readonly longReads: LongReads
  readonly ofArguments: number
  readonly each: QueryCost
}

/** Computes the cost of a selection, in the page of a connection if there is one. */
type CostFunction = (computation: Computation, page: PageContext) => QueryCost

/** The cost of a selection or field: constant, or a function of variables and of the page that contains it. */
interface SelectionCost {
  readonly depth: number
  readonly cost: QueryCost | CostFunction
  readonly usesVariables: boolean
}

const nothing: SelectionCost = { depth: 0, cost: noCost, usesVariables: false }

function costAt({ cost }: SelectionCost, computation: Computation, page: PageContext): QueryCost {
  return typeof cost === 'function' ? cost(computation, page) : cost
}

const isConstant = ({ cost }: SelectionCost): boolean => typeof cost !== 'function'

class CostCalculator {
  readonly #fragments = new Map<string, FragmentDefinitionNode>()
  readonly #ofFragments = new Map<string, SelectionCost>()
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

  selection({ selections }: SelectionSetNode, parent: GraphQLCompositeType): SelectionCost {
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

  #fragment(name: string): SelectionCost {
    const known = this.#ofFragments.get(name)
    if (known !== undefined) return known
    const fragment = this.#fragments.get(name)
    const selection = fragment === undefined ? nothing : this.#once(fragment)
    this.#ofFragments.set(name, selection)
    return selection
  }

  /** Returns the cost of a fragment, which is computed once for each page. */
  #once({ selectionSet, typeCondition }: FragmentDefinitionNode): SelectionCost {
    const selection = this.#conditional(selectionSet, typeCondition.name.value)
    if (isConstant(selection)) return selection
    const cost: CostFunction = (computation, page) => {
      const byPage = computation.known.get(selection) ?? new Map<string, QueryCost>()
      computation.known.set(selection, byPage)
      const key = `${page.length} ${page.longCount}`
      const known = byPage.get(key) ?? costAt(selection, computation, page)
      byPage.set(key, known)
      return known
    }
    return { ...selection, cost }
  }

  #conditional(selectionSet: SelectionSetNode, typeName: string): SelectionCost {
    const type = this.schema.getType(typeName)
    return isCompositeType(type) ? this.selection(selectionSet, type) : nothing
  }

  #field(node: FieldNode, parent: GraphQLCompositeType): SelectionCost {
    const field = definitionOf(node.name.value, parent)
    if (field === undefined) return { depth: 1, cost: { ...noCost, units: 1 }, usesVariables: false }
    const type = getNamedType(field.type)
    const inner = node.selectionSet && isCompositeType(type) ? this.selection(node.selectionSet, type) : nothing
    const given = givenArguments(field, node)
    const declared = longReadsOf(field)
    const ofText = textCost(node, parent)
    const cost: CostFunction = (computation, page) => {
      const { requested, longReads, each, ofArguments } = fieldCost(node, declared, given, inner, computation)
      const length = lengthOf(field, requested, page.length)
      const isLongCount = isCount(field) && page.longCount !== null
      const label =
        requested === null
          ? isLongCount
            ? [field.name]
            : []
          : [`${field.name}(${requested.argument}: ${requested.length})`]
      return {
        units: ownCost(field, page) + ofText + ofArguments + length * each.units,
        mostExpensive: [...label, ...each.mostExpensive],
        hasLongReads: longReads.own !== null || each.hasLongReads || isLongCount,
      }
    }
    const depth = 1 + inner.depth
    const dependsOnVariables = given.usesVariables || inner.usesVariables
    return dependsOnVariables || isOfPage(field)
      ? { depth, cost, usesVariables: dependsOnVariables }
      : { depth, cost: cost(this.#constants, noPage), usesVariables: false }
  }
}

/** Computes the page-independent cost of a field, once per computation. */
function fieldCost(
  node: FieldNode,
  declared: LongReadsByArguments,
  { valuesFor }: GivenArguments,
  inner: SelectionCost,
  computation: Computation,
): FieldCost {
  const known = computation.fields.get(node)
  if (known !== undefined) return known
  const given = valuesFor(computation.variables)
  const requested = requestedLength(given)
  const longReads = declared(given)
  const page = { length: requested?.length ?? 1, longCount: longReads.count }
  const ofArguments = argumentCost(given, computation.lists) + (longReads.own ?? 0)
  const cost = { requested, longReads, ofArguments, each: costAt(inner, computation, page) }
  computation.fields.set(node, cost)
  return cost
}
