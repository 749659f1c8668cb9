import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type SelectionSetNode,
  Source,
  TokenKind,
  visit,
} from 'graphql'
import type { QueryLimits } from '../../limits.ts'
import type { QuerySize } from './cost/cost-calculator.ts'
import type { QueryCost } from './cost/query-cost.ts'
import { overBoundCode } from './errors.ts'

type LimitName = keyof QueryLimits

/** Units of each limit, as messages of errors name them. */
const countedUnits: Record<LimitName, string> = {
  bytes: 'bytes',
  lines: 'lines',
  tokens: 'tokens',
  repeats: 'fields of one name in one selection',
  variableCharacters: 'characters in its variables',
  variableValues: 'values in its variables',
  depth: 'levels of nested fields',
  aliases: 'aliases',
  aliasCharacters: 'characters in an alias',
  directives: 'directives',
  cost: 'units of cost (lists count their selection once for each item)',
  responseCharacters: 'characters in its response',
}

/**
 * Checks the text of a document, before it is parsed.
 * @returns error of the limit that it exceeds, or null
 */
export function checkText(text: string, limits: QueryLimits): GraphQLError | null {
  const tooLong = over(limits, 'bytes', Buffer.byteLength(text)) ?? over(limits, 'lines', countLines(text))
  return tooLong ?? over(limits, 'tokens', countTokens(text))
}

/**
 * Checks the fields of a document before validation, which compares each pair of fields with the same name in one
 * selection.
 * @returns error of the limit that it exceeds, or null
 */
export function checkFields(document: DocumentNode, limits: QueryLimits): GraphQLError | null {
  let [mostRepeats, longest] = [0, 0]
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  }
  const enter = ({ selectionSet }: { readonly selectionSet?: SelectionSetNode | undefined }): void => {
    if (selectionSet === undefined) return
    const names = new Names(fragments)
    names.add(selectionSet)
    mostRepeats = Math.max(mostRepeats, names.maxRepeats)
  }
  const enterField = (field: FieldNode): void => {
    longest = Math.max(longest, field.alias?.value.length ?? 0)
    enter(field)
  }
  visit(document, { OperationDefinition: enter, FragmentDefinition: enter, Field: enterField })
  return over(limits, 'repeats', mostRepeats) ?? over(limits, 'aliasCharacters', longest)
}

/** Counts the field names of a selection, including those in its fragments, each fragment once. */
class Names {
  maxRepeats = 0
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
    this.maxRepeats = Math.max(this.maxRepeats, repeats)
  }
}

/** Checks the size of an operation, which is independent of variables. */
export function checkSize({ depth, aliases, directives }: QuerySize, limits: QueryLimits): GraphQLError | null {
  return over(limits, 'depth', depth) ?? over(limits, 'aliases', aliases) ?? over(limits, 'directives', directives)
}

/** Returns the error of a document that needs more comparisons of merged fields than graphql-js performs. */
export function tooOftenMerged(): GraphQLError {
  const message =
    'Fields of its selections merge more often than is compared: write the fields of nested objects in one selection.'
  return new GraphQLError(message, { extensions: { code: overBoundCode, http: { status: 400 } } })
}

/** Returns the error of an operation whose response is longer than the limit. */
export function tooLongResponse(characters: number, maxCharacters: number): GraphQLError {
  const advice = ' It has long texts often: ask for fewer of them, or for some in another query.'
  return excess({ responseCharacters: maxCharacters }, 'responseCharacters', characters, advice)
}

/** Returns the error of an operation whose cost exceeds the limit. */
export function tooExpensive({ units, mostExpensive }: QueryCost, limits: QueryLimits): GraphQLError {
  return excess(limits, 'cost', units, cheaper(mostExpensive))
}

/**
 * Checks the variables of a request before they are coerced.
 * @returns the number of values counted, and the error of the limit that they exceed
 */
export function checkVariables(
  variables: unknown,
  limits: QueryLimits,
): { readonly values: number; readonly error: GraphQLError | null } {
  const extent = { values: 0, characters: 0 }
  count(variables, extent, limits)
  const { values, characters } = extent
  return { values, error: over(limits, 'variableValues', values) ?? over(limits, 'variableCharacters', characters) }
}

/** Counts values and characters up to the limits. */
function count(value: unknown, extent: { values: number; characters: number }, limits: QueryLimits): void {
  if (typeof value === 'string') extent.characters += value.length
  if (typeof value !== 'object' || value === null) return
  const isList = Array.isArray(value)
  const keys = Object.keys(value)
  extent.values += keys.length
  for (const key of keys) {
    // Each level counts its values before the next one: the recursion depth is limited too.
    if (extent.values > limits.variableValues || extent.characters > limits.variableCharacters) return
    if (!isList) extent.characters += key.length
    count((value as Readonly<Record<string, unknown>>)[key], extent, limits)
  }
}

function over(limits: QueryLimits, name: LimitName, count: number): GraphQLError | null {
  return count <= limits[name] ? null : excess(limits, name, count)
}

/** Returns the error of an exceeded limit. Its extensions have the keys that src/http/README.md documents. */
function excess<Of extends LimitName>(
  limits: Pick<QueryLimits, Of>,
  name: Of,
  count: number,
  advice = '',
): GraphQLError {
  const limit = limits[name]
  return new GraphQLError(`The query has ${count} ${countedUnits[name]}; the limit is ${limit}.${advice}`, {
    extensions: { code: overBoundCode, bound: name, figure: count, most: limit, http: { status: 400 } },
  })
}

/** Returns the advice for a query that is too expensive. */
function cheaper(mostExpensive: readonly string[]): string {
  if (mostExpensive.length === 0) return ' Ask for fewer fields, or for some of them in another query.'
  return ` Its most expensive part is ${mostExpensive.join(' with ')}: ask there for less, or for the rest in another query.`
}

/** Counts the lines of a document, as GraphQL ends them. */
function countLines(text: string): number {
  let lines = 1
  for (const _ of text.matchAll(/\r\n|[\n\r]/g)) lines++
  return lines
}

/**
 * Counts the tokens of a document up to its first syntax error, where the parser stops.
 * @param maxTokens counting also stops after one more than this
 */
export function countTokens(text: string, maxTokens = Infinity): number {
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  try {
    while (tokens <= maxTokens && lexer.advance().kind !== TokenKind.EOF) tokens++
  } catch {
    return tokens
  }
  return tokens
}
