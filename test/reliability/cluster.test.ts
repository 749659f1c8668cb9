import { expect, test } from 'vitest'
import { noCluster } from '../support/cluster.ts'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { cluster } from './cluster.ts'
import { ignoreProgress } from './program-result.ts'

const homes = prepareHomes()

// CI does not install Patroni: a cluster takes longer to come up and to fail over than its time allows. There, failover.test.ts,
// live.test.ts and replicas.test.ts promote standbys with pg_promote().
test.skipIf(postgresUrl === undefined || noCluster !== null)(
  `the leader of a cluster is killed while a feed is applied: nothing is lost, and no client goes back${noCluster === null ? '' : ` (${noCluster})`}`,
  async () => {
    const { measurements, violations } = await cluster({
      homes,
      points: 4_000,
      losses: ['kill'],
      leaseSeconds: 8,
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
    expect(measurements['answers']).toBeGreaterThan(100)
  },
  600_000,
)
