import type { Value } from '../../database.ts'
import { namedParameters } from '../expressions.ts'

const named = namedParameters([
  ...['lists', 'status', 'value', 'address', 'limit'],
  ...['strategy', 'owner'],
  ...['gte', 'lte', 'pairA', 'pairB', 'venue'],
] as const)

/** SQL of the parameters of pages and of counts that visit vaults. */
export const { sql: parameters, values: valuesOf } = named

/** Values of such a statement by name. */
export type PageValues = Readonly<Partial<Record<keyof typeof parameters, Value>>>
