import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { noOwnPostgreSql } from '../support/own-postgresql.ts'
import { live } from './live.ts'
import { ignoreProgress } from './program-result.ts'

// It starts separate servers, independent of the engine of the suite: one run is enough.
test.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)(
  'clients that follow ledgers receive each row once and in order, or a reset, when gateways and databases are killed',
  async () => {
    const kills = { gatewayKills: 2, databaseKills: 1, failovers: 1 }
    const { measurements, violations } = await live({
      clients: 16,
      ...kills,
      cutMilliseconds: 500,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    expect(measurements['rows that clients received']).toBeGreaterThan(0)
  },
  300_000,
)
