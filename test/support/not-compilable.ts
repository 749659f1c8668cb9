import { operationCacheLimits, type QueryLimits } from '../../src/limits.ts'

/** Selections of any object, with one more field than operations that are compiled may have. */
export const tooManyFields = Array.from(
  { length: operationCacheLimits.fields + 1 },
  (_, at) => `x${at}: __typename`,
).join(' ')

/** Returns limits of queries that permit these selections. */
export function withTooManyFields(limits: QueryLimits): QueryLimits {
  return { ...limits, bytes: 100_000, tokens: 20_000, aliases: 5_000, repeats: 5_000 }
}
