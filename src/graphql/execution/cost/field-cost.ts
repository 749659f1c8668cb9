import {
  getNullableType,
  type GraphQLCompositeType,
  type GraphQLField,
  isLeafType,
  isListType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from 'graphql'
import { admissionLimits, assumedLengths, ledgerCountCost, readCost } from '../../../limits.ts'

/** Length of a list that an argument asks for: by a number, or by the ids of its items. */
export interface AskedLength {
  readonly argument: string
  readonly length: number
}

/** @returns null where no argument asks for a length */
export function askedLength(given: Readonly<Record<string, unknown>>): AskedLength | null {
  for (const argument of lengthArguments) {
    const value = given[argument]
    if (typeof value === 'number') return { argument, length: Math.max(1, value) }
    if (Array.isArray(value)) return { argument, length: value.length }
  }
  return null
}

/** Items of a list: as many as an argument asks for, as a connection's page has, or as are assumed. */
export function lengthOf(field: GraphQLField<unknown, unknown>, asked: AskedLength | null, page: number): number {
  return isPageField(field) ? page : (asked?.length ?? assumedLengths[field.name] ?? 10)
}

/** Whether a field lists the items of a connection's page; one that takes arguments, such as ids, does not. */
export function isPageField({ name, args }: GraphQLField<unknown, unknown>): boolean {
  return (name === 'nodes' || name === 'edges') && args.length === 0
}

/** Elements of all lists in an input value: each is compared with rows. */
export function elementsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.reduce((sum: number, part) => sum + elementsIn(part), Array.isArray(value) ? value.length : 0)
}

/**
 * Cost of a field without its selection. A list with a length argument, and a count of one, is a read of its own; the
 * total of a ledger counts its rows. Introspection is never cheap: it is rare, and its result is large.
 */
export function ownCost(field: GraphQLField<unknown, unknown>, parent: GraphQLCompositeType): number {
  if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) return admissionLimits.cheapCost
  if (field.name === 'totalCount') return parent.name === 'LedgerConnection' ? ledgerCountCost : readCost
  return field.args.some(({ name }) => lengthArguments.includes(name)) ? readCost : 1
}

const lengthArguments: readonly string[] = ['first', 'points', 'ids']

/** Whether arguments can change the cost of a field: they choose a length, or take lists. */
export function hasPricedArguments({ args }: GraphQLField<unknown, unknown>): boolean {
  return args.some(({ name, type }) => lengthArguments.includes(name) || !isLeafType(getNullableType(type)))
}

export function isListField({ type }: GraphQLField<unknown, unknown>): boolean {
  return isListType(getNullableType(type))
}
