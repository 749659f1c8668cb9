/**
 * Compares snapshots of the past (`at=`) with present ones, on PostgreSQL without a response cache: requests a second, and
 * CPU time of the gateway for each, as medians of interleaved rounds. The goal is at least 0.8 of the present ones.
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
import { median } from './speed/comparison.ts'

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

async function compare(url: string): Promise<void> {
  const vaults = await filled(url)
  const gateway = await startGateway([], { DATABASE_URL: url, CACHE_MEGABYTES: '0' })
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const ask = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      get({ port: gateway.port, host: '127.0.0.1', path, agent }, (response) => {
        response.resume().on('end', resolve)
        if (response.statusCode !== 200) reject(new Error(`${path} was answered by ${response.statusCode}`))
      }).on('error', reject)
    })
  const measured = async (pathOf: () => string) => {
    const before = await gateway.read()
    const until = performance.now() + Number(values.seconds) * 1000
    let count = 0
    const client = async (): Promise<void> => {
      for (; performance.now() < until; count++) await ask(pathOf())
    }
    await Promise.all(Array.from({ length: connections }, client))
    const cpuSeconds = (await gateway.read()).cpuSeconds - before.cpuSeconds
    return { perSecond: count / Number(values.seconds), cpu: (1e6 * cpuSeconds) / count }
  }
  const some = (): Vault => vaults[Math.floor(Math.random() * vaults.length)] as Vault
  const ways = {
    present: () => `/vault/${some().address}/snapshot`,
    past: () => {
      const { address, from, to } = some()
      return `/vault/${address}/snapshot?at=${from + Math.floor(Math.random() * (to - from))}`
    },
  }
  try {
    for (const pathOf of Object.values(ways)) await measured(pathOf)
    const found = { present: [] as Figures[], past: [] as Figures[] }
    for (let round = 0; round < Number(values.rounds); round++) {
      found.present.push(await measured(ways.present))
      found.past.push(await measured(ways.past))
    }
    report(found)
  } finally {
    agent.destroy()
    await gateway.kill()
  }
}

interface Figures {
  readonly perSecond: number
  /** CPU time of the gateway for one request, in microseconds. */
  readonly cpu: number
}

interface Vault {
  readonly address: string
  readonly from: number
  readonly to: number
}

/** Applies the demo world and, if it is there, the feed of a real market. */
async function filled(url: string): Promise<readonly Vault[]> {
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

function report({ present, past }: Readonly<Record<'present' | 'past', readonly Figures[]>>): void {
  const ratios = past.map(({ perSecond }, round) => perSecond / (present[round]?.perSecond ?? NaN))
  const inColumns = (figures: readonly Figures[]) => ({
    'requests a second': median(figures.map(({ perSecond }) => perSecond)).toFixed(0),
    'us of CPU a request': median(figures.map(({ cpu }) => cpu)).toFixed(0),
  })
  console.table({ present: inColumns(present), past: inColumns(past) })
  console.log(`past to present: ${median(ratios).toFixed(2)} (at least ${goal})`)
  if (median(ratios) < goal) process.exitCode = 1
}
