import { operationCacheLimits, type QueryLimits } from '../../src/limits.ts'

/** A selection set for any object type, with one field more than a compiled operation may have. */
export const tooManyFields = Array.from(
  { length: operationCacheLimits.fields + 1 },
  (_, at) => `x${at}: __typename`,
).join(' ')

/** Returns query limits that permit this selection set. */
export function withTooManyFields(limits: QueryLimits): QueryLimits {
  return { ...limits, bytes: 100_000, tokens: 20_000, aliases: 5_000, repeats: 5_000 }
}
