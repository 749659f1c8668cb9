import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { noOwnPostgreSql } from '../support/own-postgresql.ts'
import { failover } from './failover.ts'
import { ignoreProgress } from './program-result.ts'

const failovers = 2

// It starts separate servers, independent of the engine of the suite: one run is enough.
test.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)(
  `${failovers} failovers to a lagging standby during a feed lose nothing`,
  async () => {
    const { measurements, violations } = await failover({ failovers, points: 30_000, reportProgress: ignoreProgress })
    expect(violations).toEqual([])
    expect(measurements['file: failovers']).toBe(failovers)
  },
  300_000,
)
