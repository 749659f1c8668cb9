import { expect, test } from 'vitest'
import { noCluster } from '../support/cluster.ts'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { cluster } from './cluster.ts'
import { ignoreProgress } from './program-result.ts'

const homes = prepareHomes()

// CI does not install Patroni, since starting and failing over a cluster takes too long. There, failover.test.ts,
// live.test.ts and replicas.test.ts promote standbys with pg_promote().
test.skipIf(postgresUrl === undefined || noCluster !== null)(
  `killing the leader of a cluster while a feed is applied loses nothing, and no client receives older data${noCluster === null ? '' : ` (${noCluster})`}`,
  async () => {
    const { measurements, violations } = await cluster({
      homes,
      points: 4_000,
      losses: ['kill'],
      leaseSeconds: 8,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    expect(measurements['responses']).toBeGreaterThan(100)
  },
  600_000,
)
