/**
 * Measures streams: memory, CPU time and latency of one gateway process on PostgreSQL, whose subscribers are another
 * process on the same machine.
 *   npm run bench:live [-- --subscribers 1000,10000 --vaults 2000 --idle 35 --broadcasts 20 --trickle 20]
 */
import { parseArgs } from 'node:util'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { createOnServer } from '../support/database.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { type LiveFigures, measureLive } from './live/measure.ts'

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
  const figures: LiveFigures[] = []
  for (const subscribers of values.subscribers.split(',').map(Number)) figures.push(await measured(subscribers))
  console.table(Object.fromEntries(figures.map((each) => [each.subscribers, inColumns(each)])))
  if (figures.some((each) => !isReached(each))) process.exitCode = 1
} finally {
  await server.remove()
}

async function measured(subscribers: number): Promise<LiveFigures> {
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

function inColumns(figures: LiveFigures): Record<string, string> {
  const { broadcast, trickle, snapshotsMeanwhile: snapshots } = figures
  return {
    'idle, MB over base': figures.idleMegabytes.toFixed(0),
    'idle, % of a core': (100 * figures.idleCpu).toFixed(1),
    'one change to all, p50 / p99 ms': `${broadcast.p50.toFixed(0)} / ${broadcast.p99.toFixed(0)}`,
    'us of CPU a delivery': figures.deliveryMicroseconds.toFixed(0),
    'snapshots meanwhile (alone), p99 ms': `${snapshots.p99.toFixed(0)} (${snapshots.unloadedP99.toFixed(0)})`,
    'commit to client, p50 / p99 ms': `${trickle.p50.toFixed(0)} / ${trickle.p99.toFixed(0)}`,
    missed: String(figures.missed),
  }
}

/** The goals are those for 10,000 subscribers; nobody may miss a change. */
function isReached({ subscribers, missed, ...figures }: LiveFigures): boolean {
  const isInTime = figures.broadcast.p99 <= 500 && figures.snapshotsMeanwhile.p99 <= 100 && figures.trickle.p99 <= 100
  return missed === 0 && (subscribers > 10_000 || (isInTime && figures.idleMegabytes <= 150 && figures.idleCpu <= 0.05))
}
