import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { noOwnPostgreSql } from '../support/own-postgresql.ts'
import { faults } from './faults.ts'
import { ignoreProgress } from './program-result.ts'

const times = 3

// It starts a server of its own, on which nothing depends on the engine of the suite: one run is enough.
test.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)(
  `PostgreSQL goes away ${times} times, in three ways: answers are right or a 503, and nothing is lost`,
  async () => {
    const { measurements, violations } = await faults({
      faults: times,
      frozenSeconds: 2,
      jobs: 4,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    expect(measurements['answers of the feeds']).toBeGreaterThan(0)
    expect(measurements['answers 503']).toBeGreaterThan(0)
  },
  300_000,
)
