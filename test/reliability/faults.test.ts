import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { noOwnPostgreSql } from '../support/own-postgresql.ts'
import { faults } from './faults.ts'
import { ignoreProgress } from './program-result.ts'

const times = 3

// It starts a separate server, independent of the engine of the suite: one run is enough.
test.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)(
  `during ${times} outages of PostgreSQL of three kinds, responses are correct or a 503, and nothing is lost`,
  async () => {
    const { measurements, violations } = await faults({
      faults: times,
      frozenSeconds: 2,
      jobs: 4,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    expect(measurements['correct responses']).toBeGreaterThan(0)
    expect(measurements['responses 503']).toBeGreaterThan(0)
  },
  300_000,
)
