import type { Attack } from './attacks.ts'
import { defaultQueryLimits } from '../../../src/limits.ts'
import { never, times } from './documents.ts'

/** About as many lines as a document may have, which are counted for the place of each error. */
const lines = '\n'.repeat(defaultQueryLimits.lines - 100)
const fault = 'errors of fields'

/** Queries within the limits, whose execution fails in as many places as their cost permits. */
export const executions: readonly Attack[] = [
  {
    name: 'null conditions of 2,000 objects',
    fault,
    carryOut: ({ graphql, target }) =>
      graphql({
        query: never(
          `query ($n: Boolean = false, $ids: [ID!]!) { ${lines} ${times(11, (at) => `a${at}: nodes(ids: $ids) { id @skip(if: $n) }`)} }`,
        ),
        variables: { n: null, ids: Array.from({ length: 200 }, () => target.short[0]) },
      }),
  },
  {
    name: 'arguments out of bounds at 400 objects',
    fault,
    carryOut: ({ graphql, target }) =>
      graphql({
        query: never(
          `query ($ids: [ID!]!) { ${lines} ${times(2, (at) => `a${at}: nodes(ids: $ids) { ... on Vault { equity(points: 1) { ts } } }`)} }`,
        ),
        variables: { ids: Array.from({ length: 200 }, () => target.short[0]) },
      }),
  },
]
