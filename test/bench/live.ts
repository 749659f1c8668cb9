/**
 * Measures memory, CPU time and latency of streams of server-sent events, of one gateway process on PostgreSQL. The
 * subscribers are another process on the same machine. Exits with status 1 if a goal is not reached or an event is missing.
 *   npm run bench:live [-- --subscribers 1000,10000 --vaults 2000 --idle 35 --broadcasts 20 --trickle 20]
 */
import { parseArgs } from 'node:util'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { createOnServer } from '../support/database.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { type LiveMeasurement, measureLive } from './live/measure.ts'

const { values } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '1000,10000' },
    vaults: { type: 'string', default: '2000' },
    idle: { type: 'string', default: '35' },
    broadcasts: { type: 'string', default: '20' },
    trickle: { type: 'string', default: '20' },
  },
})

const server = await startOwnPostgreSql()
try {
  const measurements: LiveMeasurement[] = []
  for (const count of values.subscribers.split(',').map(Number)) measurements.push(await measureSubscribers(count))
  console.table(Object.fromEntries(measurements.map((each) => [each.subscribers, tableRow(each)])))
  if (measurements.some((each) => !reachesGoals(each))) process.exitCode = 1
} finally {
  await server.remove()
}

/** Measures a gateway with this many subscribers on a new database. */
async function measureSubscribers(subscribers: number): Promise<LiveMeasurement> {
  const url = await createOnServer(server.url)
  const database = await openPostgreSql(url, 3)
  try {
    await migrate(database)
    return await measureLive({
      database,
      url,
      subscribers,
      vaults: Number(values.vaults),
      idleSeconds: Number(values.idle),
      broadcasts: Number(values.broadcasts),
      trickleSeconds: Number(values.trickle),
    })
  } finally {
    await database.close()
  }
}

function tableRow(measurement: LiveMeasurement): Record<string, string> {
  const { broadcast, trickle, snapshotsMeanwhile: snapshots } = measurement
  return {
    'idle, MB above no streams': measurement.idleMegabytes.toFixed(0),
    'idle, % of a core': (100 * measurement.idleCpu).toFixed(1),
    'change to all, p50 / p99 ms': `${broadcast.p50.toFixed(0)} / ${broadcast.p99.toFixed(0)}`,
    'us of CPU per delivery': measurement.deliveryMicroseconds.toFixed(0),
    'snapshots during changes (before), p99 ms': `${snapshots.p99.toFixed(0)} (${snapshots.unloadedP99.toFixed(0)})`,
    'commit to client, p50 / p99 ms': `${trickle.p50.toFixed(0)} / ${trickle.p99.toFixed(0)}`,
    missed: String(measurement.missed),
  }
}

/** Checks the goals of up to 10,000 subscribers; with more of them, only that no event is missing. */
function reachesGoals({ subscribers, missed, ...measurement }: LiveMeasurement): boolean {
  const { broadcast, snapshotsMeanwhile, trickle, idleMegabytes, idleCpu } = measurement
  const isInTime = broadcast.p99 <= 500 && snapshotsMeanwhile.p99 <= 100 && trickle.p99 <= 100
  return missed === 0 && (subscribers > 10_000 || (isInTime && idleMegabytes <= 150 && idleCpu <= 0.05))
}
