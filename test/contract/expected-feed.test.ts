import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Summary } from '../../src/feed/summary.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { dump } from '../support/dump.ts'
import { realFeed } from '../support/feeds.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'

/** Facts of a real market; the file `*.expected.json` beside it has the expected values, computed independently of this code. */
const feed = realFeed ?? ''
const feedExists = realFeed !== null

/** Expected values of a vault: decimals are strings. */
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

if (!feedExists) console.warn('The feed of a real market is not tested: its file is missing in ../shared')

describe.runIf(feedExists)('the real-market feed', async () => {
  const expected = feedExists
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

  test('has vaults', () => expect(vaults.length).toBeGreaterThan(0))

  test.each(vaults)('has the expected snapshot of %s by REST', async (address, vault) => {
    const snapshot = await rest<Record<string, unknown>>(`/vault/${address}/snapshot`)
    expect(snapshot).toMatchObject({ status: vault.status, strategy: vault.strategy, updatedAt: vault.updatedAt })
    for (const amount of amounts) expect(snapshot[amount], amount).toBe(Number(vault[amount]))
    expect(String(snapshot['vault']).toLowerCase()).toBe(address)
    expect(String(snapshot['owner']).toLowerCase()).toBe(vault.owner)
    expect(snapshot['fees']).toEqual(numbers(vault.fees))
    expect(snapshot['positions']).toEqual(numbers(vault.positions, ['id']))
    expect(snapshot['suspension']).toEqual(vault.suspension && { ...vault.suspension, exitsAvailable: true })
  })

  test.each(vaults)('has the expected equity of %s by REST', async (address, vault) => {
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

  test.each(vaults)('has the expected ledger of %s by REST', async (address, vault) => {
    const rows = await rest<{ txHash: string; type: string; ts: number }[]>(`/vault/${address}/events?limit=1000`)
    expect(rows).toHaveLength(vault.events)
    expect(rows.slice(0, vault.newest.length).map(({ txHash, type, ts }) => [txHash, type, ts])).toEqual(vault.newest)
  })

  test.each(vaults)('has the expected values of %s by GraphQL', async (address, vault) => {
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

  test('has the expected figures of the strategies by REST and by GraphQL', async () => {
    type Figures = { id: string; liveApr: number | null; sigma: number | null }[]
    const byRest = await rest<Figures>('/strategies')
    const { strategies: byGraphql } = await gateway.query<{ strategies: Figures }>(
      '{ strategies { id liveApr sigma } }',
    )
    for (const figures of [byRest, byGraphql]) {
      expect(figures.map(({ id }) => id).sort()).toEqual(Object.keys(expected?.strategies ?? {}).sort())
      for (const { id, ...figure } of figures) {
        expectClose(figure.liveApr, expected?.strategies[id]?.liveApr)
        expectClose(figure.sigma, expected?.strategies[id]?.sigma)
      }
    }
  })

  test('has the expected number of daily returns of each strategy in its 30 newest complete days', async () => {
    const counted = await database.query<{ id: string; days: number }>({ name: 'returns_counted', text: returns }, [])
    const days = Object.entries(expected?.strategies ?? {}).map(([id, strategy]) => ({ id, days: strategy.days }))
    expect(counted).toEqual(days.sort((a, b) => (a.id < b.id ? -1 : 1)))
  })

  test('has the expected universe by REST and by GraphQL', async () => {
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

  test('is skipped completely when it is applied again, and changes nothing', async () => {
    const before = await dump(database)
    const again = await ingest({ database, source: await fileSource(feed) })
    expect(again).toEqual({ applied: {}, skipped: summary.applied, rejected: {} })
    expect(await dump(database)).toEqual(before)
  })
})

/** Counts the days on which a vault of the strategy had a value at the start: only these have a return. */
const returns = `
  select strategy.id, count(distinct days.day)::integer as days
  from strategy join vault on strategy_id = strategy.id
    cross join generate_series(figures_day - 29, figures_day) as days(day) cross join lateral (
      select case when vault_day.day = days.day then start_usd else end_usd end as start_usd
      from vault_day where vault_id = vault.id and vault_day.day <= days.day order by vault_day.day desc limit 1) held
  where start_usd > 0
  group by strategy.id order by strategy.id collate "C"`

/** Converts decimal strings to numbers, as they are served, at any depth except for the values of some keys. */
function numbers(value: unknown, exceptKeys: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => numbers(item, exceptKeys))
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, exceptKeys.includes(key) ? item : numbers(item, exceptKeys)]),
  )
}

/** Expects a number with a relative error below 1e-9, or the same null. */
function expectClose(actual: number | null | undefined, expected: number | null | undefined): void {
  if (typeof actual !== 'number' || typeof expected !== 'number') expect(actual).toBe(expected)
  else expect(Math.abs(actual / expected - 1)).toBeLessThan(1e-9)
}
