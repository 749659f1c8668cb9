/**
 * Compares snapshots of past seconds (`at=`) with present ones, on PostgreSQL without a response cache: requests a second,
 * and CPU time of the gateway per request, as medians of interleaved rounds. The goal is a ratio of at least 0.8; below it,
 * the exit status is 1.
 *   npm run bench:history [-- --rounds 7 --seconds 6]
 */
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { startGateway } from '../reliability/gateway.ts'
import { createOnServer } from '../support/database.ts'
import { realFeed } from '../support/feeds.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { apply, midnight } from '../support/world.ts'
import { median } from './median.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '6' } },
})
const connections = 16
const goal = 0.8

const server = await startOwnPostgreSql()
try {
  await compare(await createOnServer(server.url))
} finally {
  await server.remove()
}

/** Fills a database, and measures both kinds of snapshots on it. */
async function compare(url: string): Promise<void> {
  const vaults = await fillDatabase(url)
  const gateway = await startGateway([], { DATABASE_URL: url, CACHE_MEGABYTES: '0' })
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const send = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      get({ port: gateway.port, host: '127.0.0.1', path, agent }, (response) => {
        response.resume().on('end', resolve)
        if (response.statusCode !== 200) reject(new Error(`${path}: status ${response.statusCode}`))
      }).on('error', reject)
    })
  const measurePaths = async (pathOf: () => string): Promise<Measurement> => {
    const before = await gateway.read()
    const until = performance.now() + Number(values.seconds) * 1000
    let count = 0
    const client = async (): Promise<void> => {
      for (; performance.now() < until; count++) await send(pathOf())
    }
    await Promise.all(Array.from({ length: connections }, client))
    const cpuSeconds = (await gateway.read()).cpuSeconds - before.cpuSeconds
    return { requestsPerSecond: count / Number(values.seconds), cpuMicroseconds: (1e6 * cpuSeconds) / count }
  }
  const randomVault = (): Vault => vaults[Math.floor(Math.random() * vaults.length)] as Vault
  const paths = {
    present: () => `/vault/${randomVault().address}/snapshot`,
    past: () => {
      const { address, from, to } = randomVault()
      return `/vault/${address}/snapshot?at=${from + Math.floor(Math.random() * (to - from))}`
    },
  }
  try {
    for (const pathOf of Object.values(paths)) await measurePaths(pathOf)
    const measurements = { present: [] as Measurement[], past: [] as Measurement[] }
    for (let round = 0; round < Number(values.rounds); round++) {
      measurements.present.push(await measurePaths(paths.present))
      measurements.past.push(await measurePaths(paths.past))
    }
    report(measurements)
  } finally {
    agent.destroy()
    await gateway.kill()
  }
}

interface Measurement {
  readonly requestsPerSecond: number
  /** CPU time of the gateway per request. */
  readonly cpuMicroseconds: number
}

/** A vault with the range of its history, in Unix seconds. */
interface Vault {
  readonly address: string
  readonly from: number
  readonly to: number
}

/** Applies the demo world and, if the file exists, the feed of a real market; returns the vaults with a history. */
async function fillDatabase(url: string): Promise<readonly Vault[]> {
  const database = await openPostgreSql(url, 3)
  try {
    await migrate(database)
    await apply(database, demoFacts(midnight))
    const lines = realFeed === null ? [] : gunzipSync(readFileSync(realFeed)).toString().trim().split('\n')
    await apply(
      database,
      lines.map((line) => JSON.parse(line) as FactInput),
    )
    return await database.query<Vault>(
      {
        name: 'vaults_with_history',
        text: `select address, min(ts)::float8 as from, max(ts)::float8 as to
          from vault join equity_point on vault_id = vault.id group by address having min(ts) < max(ts)`,
      },
      [],
    )
  } finally {
    await database.close()
  }
}

function report({ present, past }: Readonly<Record<'present' | 'past', readonly Measurement[]>>): void {
  const ratios = past.map(
    ({ requestsPerSecond }, round) => requestsPerSecond / (present[round]?.requestsPerSecond ?? NaN),
  )
  const tableRow = (measurements: readonly Measurement[]) => ({
    'requests a second': median(measurements.map(({ requestsPerSecond }) => requestsPerSecond)).toFixed(0),
    'us of CPU per request': median(measurements.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(0),
  })
  console.table({ present: tableRow(present), past: tableRow(past) })
  console.log(`Ratio of past to present: ${median(ratios).toFixed(2)} (goal: at least ${goal})`)
  if (median(ratios) < goal) process.exitCode = 1
}
