import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { noOwnPostgreSql } from '../support/own-postgresql.ts'
import { failover } from './failover.ts'
import { ignoreProgress } from './program-result.ts'

const failovers = 2

// It starts servers of its own, on which nothing depends on the engine of the suite: one run is enough.
test.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)(
  `the primary is killed under a feed ${failovers} times, and a standby that lags is promoted: nothing is lost`,
  async () => {
    const { measurements, violations } = await failover({ failovers, points: 30_000, reportProgress: ignoreProgress })
    expect(violations).toEqual([])
    expect(measurements['file: failovers']).toBe(failovers)
  },
  300_000,
)
