import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { markIntervalMilliseconds, torn } from './torn.ts'

const engine = postgresUrl === undefined ? 'pglite' : 'postgresql'
// PGlite has one connection, in the thread that applies the facts.
const responses = { pglite: 1_000, postgresql: 1_200 }[engine]
const homes = prepareHomes()

test(`none of ${responses} responses during a busy feed mixes two committed states, cached or not`, async () => {
  const { measurements, violations } = await torn({
    homes,
    responses,
    markIntervalMilliseconds: markIntervalMilliseconds[engine],
    reportProgress: ignoreProgress,
  })
  expect(violations).toEqual([])
  for (const cached of ['cached', 'uncached']) {
    expect(measurements[`responses, ${cached}`]).toBeGreaterThanOrEqual(responses)
  }
}, 600_000)
