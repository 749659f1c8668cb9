import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Summary } from '../../src/feed/run.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { dump } from '../support/dump.ts'
import { realFeed } from '../support/feeds.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'

/** Real-market facts and, beside them, the figures that they must give, computed independently of this code. */
const feed = realFeed ?? ''
const isThere = realFeed !== null

interface ExpectedVault {
  status: string
  strategy: string
  owner: string
  fees: Record<string, string>
  suspension: { reason: string; since: number } | null
  updatedAt: number
  positions: Record<string, unknown>[]
  equityPoints: number
  firstPoints: [number, string, string, string][]
  lastPoint: [number, string, string, string]
  events: number
  newest: [string, string, number][]
}

interface Expected {
  vaults: Record<string, ExpectedVault & Record<(typeof amounts)[number], string>>
  strategies: Record<string, { liveApr: number | null; sigma: number | null; days: number }>
  universe: { assets: Record<string, unknown>[]; pairs: Record<string, unknown>[] }
}

const amounts = ['valueUsd', 'capitalInUsd', 'capitalOutUsd', 'netUsd', 'marketDeltaUsd', 'strategyDeltaUsd'] as const

if (!isThere) console.warn(`The expected figures are not tested: there are no real-market facts in ../shared`)

describe.runIf(isThere)('the real-market feed', async () => {
  const expected = isThere
    ? (JSON.parse(await readFile(feed.replace('.ndjson.gz', '.expected.json'), 'utf8')) as Expected)
    : null
  const vaults = Object.entries(expected?.vaults ?? {})
  let database: TestDatabase
  let gateway: TestGateway
  let summary: Summary
  const rest = async <Body>(url: string): Promise<Body> => (await gateway.get(url)).json() as Promise<Body>

  beforeAll(async () => {
    database = await emptyDatabase()
    gateway = gatewayOn(database)
    summary = await ingest({ database, source: await fileSource(feed) })
    expect(summary.rejected).toEqual({})
  })

  test('has vaults to test', () => expect(vaults.length).toBeGreaterThan(0))

  test.each(vaults)('gives the snapshot of %s by REST', async (address, vault) => {
    const snapshot = await rest<Record<string, unknown>>(`/vault/${address}/snapshot`)
    expect(snapshot).toMatchObject({ status: vault.status, strategy: vault.strategy, updatedAt: vault.updatedAt })
    for (const amount of amounts) expect(snapshot[amount], amount).toBe(Number(vault[amount]))
    expect(String(snapshot['vault']).toLowerCase()).toBe(address)
    expect(String(snapshot['owner']).toLowerCase()).toBe(vault.owner)
    expect(snapshot['fees']).toEqual(numbers(vault.fees))
    expect(snapshot['positions']).toEqual(numbers(vault.positions, ['id']))
    expect(snapshot['suspension']).toEqual(vault.suspension && { ...vault.suspension, exitsAvailable: true })
  })

  test.each(vaults)('gives the equity of %s by REST', async (address, vault) => {
    type Point = { ts: number; valueUsd: number; capitalInUsd: number; capitalOutUsd: number }
    const points = await rest<Point[]>(`/vault/${address}/equity?points=2000`)
    const rows = points.map(({ ts, valueUsd, capitalInUsd, capitalOutUsd }) => [
      ts,
      valueUsd,
      capitalInUsd,
      capitalOutUsd,
    ])
    expect(points).toHaveLength(vault.equityPoints)
    expect(rows.slice(0, 3)).toEqual(vault.firstPoints.map((point) => point.map(Number)))
    expect(rows.at(-1)).toEqual(vault.lastPoint.map(Number))
  })

  test.each(vaults)('gives the ledger of %s by REST', async (address, vault) => {
    const rows = await rest<{ txHash: string; type: string; ts: number }[]>(`/vault/${address}/events?limit=1000`)
    expect(rows).toHaveLength(vault.events)
    expect(rows.slice(0, vault.newest.length).map(({ txHash, type, ts }) => [txHash, type, ts])).toEqual(vault.newest)
  })

  test.each(vaults)('gives the same of %s by GraphQL', async (address, vault) => {
    const query = `query ($address: Address!) {
      vault(address: $address) {
        status ${amounts.join(' ')} updatedAt strategy { id } fees { contributedUsd withdrawnUsd taxedUsd highWaterUsd }
        positions { id: positionId pool { a b venue feeTier } range { lower upper current } pendingRewardsUsd inRange }
        suspension { reason since }
        equity(points: 2000) { ts valueUsd capitalInUsd capitalOutUsd }
        events(first: 5) { totalCount nodes { txHash type ts } }
      }
    }`
    type Answer = Record<string, unknown> & {
      equity: Record<string, number>[]
      events: { totalCount: number; nodes: { txHash: string; type: string; ts: number }[] }
    }
    const { vault: answer } = await gateway.query<{ vault: Answer }>(query, { address })
    for (const amount of amounts) expect(answer[amount], amount).toBe(Number(vault[amount]))
    expect(answer).toMatchObject({
      status: vault.status.toUpperCase(),
      updatedAt: vault.updatedAt,
      suspension: vault.suspension,
    })
    expect(answer['strategy']).toEqual({ id: vault.strategy })
    expect(answer['fees']).toEqual(numbers(vault.fees))
    expect(answer['positions']).toEqual(numbers(vault.positions, ['id']))
    expect(answer.equity).toHaveLength(vault.equityPoints)
    expect(Object.values(answer.equity.at(-1) ?? {})).toEqual(vault.lastPoint.map(Number))
    expect(answer.events.totalCount).toBe(vault.events)
    const newest = answer.events.nodes.map(({ txHash, type, ts }) => [txHash, type.toLowerCase(), ts])
    expect(newest).toEqual(vault.newest)
  })

  test('gives the figures of the strategies by REST and by GraphQL', async () => {
    type Figures = { id: string; liveApr: number | null; sigma: number | null }[]
    const byRest = await rest<Figures>('/strategies')
    const { strategies: byGraphql } = await gateway.query<{ strategies: Figures }>(
      '{ strategies { id liveApr sigma } }',
    )
    for (const figures of [byRest, byGraphql]) {
      expect(figures.map(({ id }) => id).sort()).toEqual(Object.keys(expected?.strategies ?? {}).sort())
      for (const { id, ...figure } of figures) {
        closeTo(figure.liveApr, expected?.strategies[id]?.liveApr)
        closeTo(figure.sigma, expected?.strategies[id]?.sigma)
      }
    }
  })

  test('gives the strategies as many daily returns in their 30 newest complete days', async () => {
    const counted = await database.query<{ id: string; days: number }>({ name: 'returns_counted', text: returns }, [])
    const wanted = Object.entries(expected?.strategies ?? {}).map(([id, { days }]) => ({ id, days }))
    expect(counted).toEqual(wanted.sort((a, b) => (a.id < b.id ? -1 : 1)))
  })

  test('gives the universe by REST and by GraphQL', async () => {
    const assets = numbers(expected?.universe.assets, ['symbol', 'name'])
    const pairs = numbers(expected?.universe.pairs)
    expect(await rest('/universe')).toEqual(assets)
    expect(await rest('/universe/pairs')).toEqual(pairs)
    const { universe } = await gateway.query<{ universe: { assets: unknown[]; pairs: unknown[] } }>(
      '{ universe { assets { symbol name venues liquidityUsd } pairs { a b venues tvlUsd emissions } } }',
    )
    expect(universe.pairs).toEqual(pairs)
    expect(assets).toMatchObject(universe.assets)
  })

  test('changes nothing when it comes again, and is skipped whole', async () => {
    const before = await dump(database)
    const again = await ingest({ database, source: await fileSource(feed) })
    expect(again).toEqual({ applied: {}, skipped: summary.applied, rejected: {} })
    expect(await dump(database)).toEqual(before)
  })
})

/** A strategy has a return of a day where one of its vaults had value at its start. */
const returns = `
  select strategy.id, count(distinct days.day)::integer as days
  from strategy join vault on strategy_id = strategy.id
    cross join generate_series(figures_day - 29, figures_day) as days(day) cross join lateral (
      select case when vault_day.day = days.day then start_usd else end_usd end as start_usd
      from vault_day where vault_id = vault.id and vault_day.day <= days.day order by vault_day.day desc limit 1) held
  where start_usd > 0
  group by strategy.id order by strategy.id collate "C"`

/** Decimal texts as the numbers they are served as, at any depth but under the keys left out. */
function numbers(value: unknown, leftOut: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => numbers(item, leftOut))
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, leftOut.includes(key) ? item : numbers(item, leftOut)]),
  )
}

function closeTo(actual: number | null | undefined, wanted: number | null | undefined): void {
  if (typeof actual !== 'number' || typeof wanted !== 'number') expect(actual).toBe(wanted)
  else expect(Math.abs(actual / wanted - 1)).toBeLessThan(1e-9)
}
