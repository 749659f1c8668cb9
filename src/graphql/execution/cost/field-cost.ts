import {
  type FieldNode,
  getArgumentValues,
  getNullableType,
  type GraphQLCompositeType,
  type GraphQLField,
  isIntrospectionType,
  isLeafType,
  isListType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from 'graphql'
import { admissionLimits, aliasCharactersOfCost, lookupCost, proseCost, readCost, scopeCosts } from '../../../limits.ts'
import { usesVariables } from '../syntax-tree.ts'
import { assumedLengths } from './assumed-lengths.ts'
import { type CountedLists, isOfMoment } from './list-counts.ts'

/** The page that contains a field: its length, and its count. */
export interface PageContext {
  /** Number of items of a connection's page; 1 for any other field. */
  readonly length: number
  /** Cost of a connection's count where it is a long read, else null. */
  readonly longCount: number | null
}

/** The page of fields outside connections. */
export const noPage: PageContext = { length: 1, longCount: null }

/** Length of a list that an argument requests: by a number, or by the ids of its items. */
export interface RequestedLength {
  readonly argument: string
  readonly length: number
}

/**
 * Returns the requested length of a list.
 * @returns null if no argument requests a length
 */
export function requestedLength(given: Readonly<Record<string, unknown>>): RequestedLength | null {
  for (const argument of lengthArguments) {
    const value = given[argument]
    if (typeof value === 'number') return { argument, length: Math.max(1, value) }
    if (Array.isArray(value)) return { argument, length: value.length }
  }
  return null
}

/**
 * Returns the number of items of a list: the length that an argument requests, the size of a connection's page, or an
 * assumed length. Any other field counts 1, except `__type`, whose lists may be several times longer than assumed.
 */
export function lengthOf(
  field: GraphQLField<unknown, unknown>,
  requested: RequestedLength | null,
  page: number,
): number {
  if (field === TypeMetaFieldDef) return largestType
  if (!isListField(field)) return 1
  return isPageField(field) ? page : (requested?.length ?? assumedLengths[field.name] ?? 10)
}

/** Returns whether the cost of a field depends on the page that contains it. */
export function isOfPage(field: GraphQLField<unknown, unknown>): boolean {
  return isCount(field) || (isListField(field) && isPageField(field))
}

/** Returns whether a field counts the items of a connection, of all its pages. */
export function isCount({ name }: GraphQLField<unknown, unknown>): boolean {
  return name === 'totalCount'
}

/** Returns whether a field lists the items of a connection's page; a field with arguments, such as ids, does not. */
function isPageField({ name, args }: GraphQLField<unknown, unknown>): boolean {
  return (name === 'nodes' || name === 'edges') && args.length === 0
}

/** Returns the cost that arguments add to a field, besides its length. */
export function argumentCost(given: Readonly<Record<string, unknown>>, lists: CountedLists): number {
  const ofIds = lists.of(given['ids']).elements * lookupCost
  return scopeCost(given, lists) + curveCost(given) + momentCost(given, lists) + ofIds + lists.elementsIn(given)
}

/** Returns the cost of merging the vaults of several strategies or owners: one page of each is read. */
function scopeCost(given: Readonly<Record<string, unknown>>, lists: CountedLists): number {
  const { strategy, owner } = (given['where'] ?? {}) as Readonly<Record<string, unknown>>
  const pages = Math.max(lists.of(strategy).distinct, lists.of(owner).distinct * scopeCosts.pagesOfOwner)
  return pages < 2 ? 0 : Math.ceil((pages * (requestedLength(given)?.length ?? 1)) / scopeCosts.rowsOfCost)
}

/**
 * Returns the cost of a field without its selection. A list with a length argument, one of the universe, or a count is a
 * separate read.
 * Introspection is never cheap: it is rare, and its result is large.
 */
export function ownCost(field: GraphQLField<unknown, unknown>, { longCount }: PageContext): number {
  if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) return admissionLimits.cheapCost
  if (isCount(field)) return longCount ?? readCost
  if (field.name === 'performance') return performanceReads * readCost
  if (field.args.some(({ name }) => lookupArguments.includes(name))) return lookupCost
  return field.args.some(({ name }) => readArguments.includes(name)) ? readCost : 1
}

/** Returns the additional cost of a field's text: a long alias, and prose in its value. */
export function textCost({ alias, name }: FieldNode, parent: GraphQLCompositeType): number {
  const ofAlias = Math.floor((alias?.value.length ?? 0) / aliasCharactersOfCost)
  return ofAlias + (proseFields.includes(name.value) && !isIntrospectionType(parent) ? proseCost : 0)
}

/** Fields whose text may have up to 10,000 characters. */
const proseFields: readonly string[] = ['tagline', 'description', 'reason']

/** Cost of a performance, in reads: it covers up to ten years of days. */
const performanceReads = 5

/**
 * Returns the cost that an argument adds to a series by another curve than net of flows: all points of a series that is
 * too short for pages are read.
 */
function curveCost(given: Readonly<Record<string, unknown>>): number {
  const { by = 'net', points } = given
  return by === 'net' || typeof points !== 'number' ? 0 : pointsOfCurve * points
}

/** Cost of the additional points that are read for each served one. */
const pointsOfCurve = 2

/**
 * Returns the cost that past moments add to a lookup, as an argument or in global ids: the vault and the positions of
 * each moment are read by separate statements.
 */
function momentCost({ [momentArgument]: at, id, ids }: Readonly<Record<string, unknown>>, lists: CountedLists): number {
  const moments = (at == null ? 0 : 1) + (isOfMoment(id) ? 1 : 0) + lists.of(ids).moments
  return moments * 2 * readCost
}

/** Ratio of the list lengths of the largest types to the assumed lengths. */
const largestType = 3

const lookupArguments: readonly string[] = ['address', 'id']
const momentArgument = 'at'
/** With `last`, `first` has no effect. */
const lengthArguments: readonly string[] = ['last', 'first', 'points', 'ids']

/** Arguments by which each alias of a list is a separate read: its length, and the filters of lists of the universe. */
const readArguments: readonly string[] = [...lengthArguments, 'venue', 'asset']

/** Arguments that affect the cost of a field, besides lists and input objects. */
const costArguments: readonly string[] = [...lengthArguments, 'by', momentArgument, 'id']

/** Values of the arguments that affect the cost of one selection of a field. */
export interface GivenArguments {
  readonly usesVariables: boolean
  /** @param variables coerced */
  readonly valuesFor: (variables: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

const noArguments: GivenArguments = { usesVariables: false, valuesFor: () => ({}) }

/** Returns the values of the arguments that affect the cost of a field; other arguments are ignored. */
export function givenArguments(field: GraphQLField<unknown, unknown>, node: FieldNode): GivenArguments {
  const args = field.args.filter(({ name, type }) => costArguments.includes(name) || !isLeafType(getNullableType(type)))
  if (args.length === 0) return noArguments
  const given = node.arguments?.filter(({ name }) => args.some((arg) => arg.name === name.value)) ?? []
  const [fieldOfCost, nodeOfCost] = [
    { ...field, args },
    { ...node, arguments: given },
  ]
  return {
    usesVariables: usesVariables(given),
    valuesFor: (variables) => getArgumentValues(fieldOfCost, nodeOfCost, variables),
  }
}

/** Returns whether the type of a field is a list. */
function isListField({ type }: GraphQLField<unknown, unknown>): boolean {
  return isListType(getNullableType(type))
}
