import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { markIntervalMilliseconds, torn } from './torn.ts'

const engine = postgresUrl === undefined ? 'pglite' : 'postgresql'
// PGlite has one connection, and answers in the thread that applies the facts.
const answers = { pglite: 1_000, postgresql: 1_200 }[engine]
const homes = prepareHomes()

test(`none of ${answers} answers beside a busy feed is of two committed states, cached and not`, async () => {
  const { measurements, violations } = await torn({
    homes,
    answers,
    markIntervalMilliseconds: markIntervalMilliseconds[engine],
    reportProgress: ignoreProgress,
  })
  expect(violations).toEqual([])
  for (const cached of ['cached', 'not cached']) {
    expect(measurements[`answers, ${cached}`]).toBeGreaterThanOrEqual(answers)
  }
}, 600_000)
