import { beforeAll, describe, expect, test } from 'vitest'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { maxUnixTime } from '../../../src/limits.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { apply, deposit, event, mark, midnight, opened, strategy, vaultA, vaultB } from '../../support/world.ts'

const day = 86_400
const days = 45

interface Performance {
  readonly since: number | null
  readonly until: number | null
  readonly timeWeightedReturn: number | null
  readonly maxDrawdown: number | null
  readonly volatility: number | null
}

/** Growth of the vaults on each day; A is not valued on every seventh. */
const growthOfA = Array.from({ length: days }, (_, index) =>
  index % 7 === 6 ? 1 : 1 + (((index * 7_919) % 41) - 19) / 1_000,
)
const growthOfB = Array.from({ length: days }, (_, index) => 1 + (((index * 104_729) % 37) - 18) / 2_000)

/** Indexes of the days with a deposit into A and a withdrawal from B. */
const depositOfA = 10
const withdrawalOfB = 20

function facts(): FactInput[] {
  let [a, b] = [1_000, 3_000]
  const all: FactInput[] = [
    strategy('one'),
    opened(vaultA, 'one'),
    opened(vaultB, 'one'),
    deposit(vaultA, midnight, '1000'),
    deposit(vaultB, midnight, '3000'),
  ]
  for (let index = 0; index < days; index++) {
    const end = midnight + (index + 1) * day
    if (index === depositOfA) {
      // Half of the day's growth is measured before the deposit, and half after it.
      const half = Math.sqrt(growthOfA[index] ?? 1)
      const before = (a * half).toFixed(6)
      all.push(deposit(vaultA, end - 1_000, '500', before))
      a = (Number(before) + 500) * half
      all.push(mark(vaultA, end, a.toFixed(6)))
    } else {
      a *= growthOfA[index] ?? 1
      if (index % 7 !== 6) all.push(mark(vaultA, end, a.toFixed(6)))
    }
    b *= growthOfB[index] ?? 1
    all.push(mark(vaultB, end, b.toFixed(6)))
    if (index === withdrawalOfB) {
      const prices = { USDC: '1' }
      all.push(event(vaultB, end, { type: 'withdraw', amountUsd: '1000', valueBeforeUsd: b.toFixed(6), prices }))
      b -= 1_000
    }
  }
  return all
}

/** Computes the performance of daily growth directly from the definitions. */
function figuresOf(growths: readonly number[]) {
  const index = growths.reduce<number[]>((values, growth) => [...values, (values.at(-1) ?? 1) * growth], [1])
  const drawdowns = index.flatMap((high, from) => index.slice(from).map((low) => 1 - low / high))
  const logs = growths.map((growth) => Math.log(growth))
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1)
  return {
    timeWeightedReturn: (index.at(-1) ?? 1) - 1,
    maxDrawdown: Math.max(...drawdowns),
    volatility: Math.sqrt(variance * 365),
  }
}

function expectFigures(found: Performance, growths: readonly number[]): void {
  const wanted = figuresOf(growths)
  expect(found.timeWeightedReturn).toBeCloseTo(wanted.timeWeightedReturn, 7)
  expect(found.maxDrawdown).toBeCloseTo(wanted.maxDrawdown, 7)
  if (growths.length < 30) expect(found.volatility).toBeNull()
  else expect(found.volatility).toBeCloseTo(wanted.volatility, 7)
}

describe('performance', () => {
  let database: TestDatabase
  let gateway: TestGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    gateway = gatewayOn(database)
    const all = facts().sort((one, other) => one.ts - other.ts)
    for (let at = 0; at < all.length; at += 17) await apply(database, all.slice(at, at + 17))
  })

  const fields = 'since until timeWeightedReturn maxDrawdown volatility'

  async function read(since: number | null, until: number | null, at: number | null = null) {
    const document = `query ($a: Address!, $b: Address!, $since: UnixTime, $until: UnixTime, $at: UnixTime) {
      a: vault(address: $a, at: $at) { performance(since: $since, until: $until) { ${fields} } }
      b: vault(address: $b, at: $at) { performance(since: $since, until: $until) { ${fields} } }
      strategy(id: "one") { performance(since: $since, until: $until) { ${fields} } } }`
    const found = await gateway.query<Record<'a' | 'b' | 'strategy', { performance: Performance }>>(document, {
      a: vaultA,
      b: vaultB,
      since,
      until,
      at,
    })
    return { a: found.a.performance, b: found.b.performance, strategy: found.strategy.performance }
  }

  test('of vaults is that of their daily growth, whatever was deposited or withdrawn', async () => {
    const { a, b } = await read(null, null)
    expectFigures(a, growthOfA)
    expectFigures(b, growthOfB)
    expect(b).toMatchObject({ until: midnight + days * day })
  })

  test('of a window has its complete days, and no volatility for too few', async () => {
    const { a, b } = await read(midnight + 3 * day + 1, midnight + 16 * day + 5)
    expect([b.since, b.until]).toEqual([midnight + 4 * day, midnight + 16 * day])
    expectFigures(a, growthOfA.slice(4, 16))
    expectFigures(b, growthOfB.slice(4, 16))
    const none = { since: null, until: null, timeWeightedReturn: null, maxDrawdown: null, volatility: null }
    expect((await read(0, midnight - day)).a).toEqual(none)
    expect((await read(0, midnight - day)).strategy).toEqual(none)
  })

  test('of a strategy weights the vaults by their values at the start of each day', async () => {
    const ends = await database.query<{ day: number; vault: string; start: number; growth: number }>(
      {
        name: 'days',
        text: `select day, address as vault, start_usd::float8 as start, growth::float8 as growth from vault_day
          join vault on id = vault_id where start_usd > 0 order by day`,
      },
      [],
    )
    const valued = new Map<string, { end: number }>()
    const growths: number[] = []
    for (let at = midnight / day; at < midnight / day + days; at++) {
      const found = new Map(ends.filter((one) => one.day === at).map((one) => [one.vault, one]))
      let [start, grown] = [0, 0]
      for (const vault of [vaultA, vaultB].map(
        (text) => ends.find((one) => one.vault.toLowerCase() === text)?.vault ?? '',
      )) {
        const one = found.get(vault)
        const begins = one?.start ?? valued.get(vault)?.end ?? 0
        start += begins
        grown += begins * (one?.growth ?? 1)
        valued.set(vault, { end: begins * (one?.growth ?? 1) })
      }
      growths.push(grown / start)
    }
    expectFigures((await read(null, null)).strategy, growths)
    expectFigures((await read(midnight + 30 * day, null)).strategy, growths.slice(30))
  })

  test('at a moment in the past has only the days that were complete then', async () => {
    const { b } = await read(null, null, midnight + 12 * day + 7)
    expect(b.until).toBe(midnight + 12 * day)
    expectFigures(b, growthOfB.slice(0, 12))
  })

  test('of a strategy is the sum of the days of its vaults', async () => {
    const [sums] = await database.query<{ same: boolean }>(
      {
        name: 'sums',
        text: `select bool_and(s.change_usd = v.change and s.gain_usd = v.gain) and count(*) = count(v.day) as same
          from strategy_day s full join (select strategy_id, day, sum(end_usd - start_usd) as change,
            sum(start_usd * (growth - 1)) as gain from vault_day join vault on id = vault_id group by 1, 2) v
          using (strategy_id, day)`,
      },
      [],
    )
    expect(sums).toEqual({ same: true })
  })
})

test('the day that ends with the year 9999 counts as any other current day', async () => {
  const last = await emptyDatabase()
  const start = maxUnixTime + 1 - day
  await apply(last, [
    strategy('one'),
    opened(vaultA, 'one', start + 1),
    deposit(vaultA, start + 2, '100'),
    mark(vaultA, maxUnixTime, '110'),
  ])
  const query = `{ vault(address: "${vaultA}") { performance { since until timeWeightedReturn maxDrawdown volatility } } }`
  const { vault } = await gatewayOn(last).query<{ vault: { performance: Performance } }>(query)
  expect(vault.performance).toMatchObject({ since: start, until: maxUnixTime + 1, maxDrawdown: 0, volatility: null })
  expect(vault.performance.timeWeightedReturn).toBeCloseTo(0.1, 12)
})
