import { defaultQueryLimits } from '../../../src/limits.ts'
import type { Attack } from './attacks.ts'
import { repeat, uncached } from './documents.ts'

/** Nearly as many line breaks as a document may have: graphql-js counts them for the location of each error. */
const manyLines = '\n'.repeat(defaultQueryLimits.lines - 100)
const category = 'field errors'

/** Queries within the limits whose execution produces as many field errors as their cost permits. */
export const executions: readonly Attack[] = [
  {
    name: 'null conditions of 2,000 objects',
    category,
    run: ({ graphql, target }) =>
      graphql({
        query: uncached(
          `query ($n: Boolean = false, $ids: [ID!]!) { ${manyLines} ${repeat(11, (at) => `a${at}: nodes(ids: $ids) { id @skip(if: $n) }`)} }`,
        ),
        variables: { n: null, ids: Array.from({ length: 200 }, () => target.shortSeriesVaults[0]) },
      }),
  },
  {
    name: 'arguments out of range at 400 objects',
    category,
    run: ({ graphql, target }) =>
      graphql({
        query: uncached(
          `query ($ids: [ID!]!) { ${manyLines} ${repeat(2, (at) => `a${at}: nodes(ids: $ids) { ... on Vault { equity(points: 1) { ts } } }`)} }`,
        ),
        variables: { ids: Array.from({ length: 200 }, () => target.shortSeriesVaults[0]) },
      }),
  },
]
