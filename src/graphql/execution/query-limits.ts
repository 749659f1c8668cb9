import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from 'graphql'
import type { QueryLimits } from '../../limits.ts'
import { queryCost, type QueryCost } from './query-cost.ts'
import { coerceVariables, operationOf } from './operation.ts'
import { countTokens } from './count-tokens.ts'

type Bound = keyof QueryLimits

const inWords: Record<Bound, string> = {
  bytes: 'bytes long',
  tokens: 'tokens long',
  repeats: 'fields rich in one name in one selection',
  variableCharacters: 'characters long in its variables',
  variableValues: 'values rich in its variables',
  depth: 'levels deep',
  aliases: 'aliases in number',
  directives: 'directives in number',
  cost: 'fields in cost (lists count their selection once for each item)',
}

/**
 * Checks the text of a query, before it is parsed.
 * @returns what is over its bound, or null
 */
export function checkText(source: string, bounds: QueryLimits): GraphQLError | null {
  return over(bounds, 'bytes', Buffer.byteLength(source)) ?? over(bounds, 'tokens', countTokens(source))
}

/**
 * Checks a document before it is validated: fields of one name in one selection are compared with each other.
 * @returns what is over its bound, or null
 */
export function checkRepeats(document: DocumentNode, bounds: QueryLimits): GraphQLError | null {
  let most = 0
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  }
  const enter = ({ selectionSet }: { readonly selectionSet?: SelectionSetNode | undefined }): void => {
    if (selectionSet === undefined) return
    const names = new Names(fragments)
    names.add(selectionSet)
    most = Math.max(most, names.mostRepeats)
  }
  visit(document, { OperationDefinition: enter, FragmentDefinition: enter, Field: enter })
  return over(bounds, 'repeats', most)
}

/** The names of a selection's fields: those in its fragments are of it too, each fragment once. */
class Names {
  mostRepeats = 0
  readonly #repeats = new Map<string, number>()
  readonly #spread = new Set<string>()

  constructor(readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>) {}

  add({ selections }: SelectionSetNode): void {
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) this.add(node.selectionSet)
      else if (node.kind === Kind.FRAGMENT_SPREAD) this.#addFragment(node.name.value)
      else this.#addField((node.alias ?? node.name).value)
    }
  }

  #addFragment(name: string): void {
    const fragment = this.fragments.get(name)
    if (fragment === undefined || this.#spread.has(name)) return
    this.#spread.add(name)
    this.add(fragment.selectionSet)
  }

  #addField(name: string): void {
    const repeats = (this.#repeats.get(name) ?? 0) + 1
    this.#repeats.set(name, repeats)
    this.mostRepeats = Math.max(this.mostRepeats, repeats)
  }
}

/** A request whose variables are coerced and whose cost is known. */
export interface CheckedQuery {
  /** Undefined where the document has none that is asked for. */
  readonly operation: OperationDefinitionNode | undefined
  /** Coerced variables. */
  readonly variables: Readonly<Record<string, unknown>>
  readonly figures: QueryCost
  /** The bound that it is over, or the first error of its variables; null where it may run. */
  readonly error: GraphQLError | null
}

/**
 * Checks the variables of a request for a valid document, before they are coerced, and the cost of running it, before it
 * runs.
 */
export function checkExtent(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  bounds: QueryLimits,
): CheckedQuery {
  const operation = operationOf(document, operationName)
  const unknown = { operation, variables: {}, figures: noFigures }
  if (operation === undefined) return { ...unknown, error: null }
  const tooMuch = checkVariables(variableValues, bounds)
  if (tooMuch !== null) return { ...unknown, error: tooMuch }
  const { coerced, error: invalid } = coerceVariables(schema, operation, variableValues)
  if (invalid !== undefined) return { ...unknown, error: invalid }
  const figures = queryCost({ schema, document, operation, variables: coerced })
  const error =
    over(bounds, 'depth', figures.depth) ??
    over(bounds, 'aliases', figures.aliases) ??
    over(bounds, 'directives', figures.directives) ??
    over(bounds, 'cost', figures.cost, cheaper(figures))
  return { operation, variables: coerced, figures, error }
}

const noFigures: QueryCost = { depth: 0, aliases: 0, directives: 0, cost: 0, dearest: [] }

/** Counts what is in the variables, as far as the bounds go: the rest is not looked at. */
function checkVariables(variables: unknown, bounds: QueryLimits): GraphQLError | null {
  const extent = { values: 0, characters: 0 }
  count(variables, extent, bounds)
  return over(bounds, 'variableValues', extent.values) ?? over(bounds, 'variableCharacters', extent.characters)
}

function count(value: unknown, extent: { values: number; characters: number }, bounds: QueryLimits): void {
  if (typeof value === 'string') extent.characters += value.length
  if (typeof value !== 'object' || value === null) return
  const entries = Array.isArray(value) ? (value as unknown[]) : Object.entries(value).flat()
  extent.values += Array.isArray(value) ? entries.length : entries.length / 2
  for (const entry of entries) {
    // Each level counts its values before the next: how deep it goes is bounded too.
    if (extent.values > bounds.variableValues || extent.characters > bounds.variableCharacters) return
    count(entry, extent, bounds)
  }
}

function over(bounds: QueryLimits, bound: Bound, figure: number, advice = ''): GraphQLError | null {
  const most = bounds[bound]
  if (figure <= most) return null
  return new GraphQLError(`The query is ${figure} ${inWords[bound]}; at most ${most} are answered.${advice}`, {
    extensions: { code: 'QUERY_OVER_BOUND', bound, figure, most, http: { status: 400 } },
  })
}

/** What to ask instead of what costs too much. */
function cheaper({ dearest }: QueryCost): string {
  if (dearest.length === 0) return ' Ask for fewer fields, or for some of them in another query.'
  return ` Its dearest part is ${dearest.join(' with ')}: ask there for less, or for the rest in another query.`
}
