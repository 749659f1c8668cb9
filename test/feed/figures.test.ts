import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { newestCompleteDay, realisedFigures, windowStart } from '../../src/domain/returns.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { buildWorld, vaultAddress, worldEnd } from '../bench/speed/world.ts'
import { createDatabase, empty, runScript, type TestDatabase } from '../support/database.ts'
import { explainWrites } from '../support/explain.ts'
import { addressOf, apply, deposit, event, feedOf, mark, midnight, opened, strategy } from '../support/world.ts'

const day = 86_400
const strategies = ['one', 'two'] as const
const vaults = [1, 2, 3, 4, 5]
const strategyOf = (vault: number): string => strategies[vault % 2] ?? 'one'

/** A valuation of a vault: its change in thousandths, and an optional flow at that time. */
interface Valuation {
  readonly waitSeconds: number
  readonly growth: number
  readonly flow: 'none' | 'deposit' | 'withdraw'
}

const valuation: fc.Arbitrary<Valuation> = fc.record({
  waitSeconds: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 2 * day }) },
    { weight: 2, arbitrary: fc.constant(day) },
    { weight: 1, arbitrary: fc.constant(3 * day) },
  ),
  growth: fc.integer({ min: 900, max: 1_100 }),
  flow: fc.constantFrom('none', 'none', 'none', 'deposit', 'withdraw'),
})

/** Returns facts of a vault in order, over more than a month. */
function factsOf(vault: number, valuations: readonly Valuation[]): FactInput[] {
  const address = addressOf(vault)
  let [ts, units] = [midnight, 1_000_000_000]
  const facts = [opened(address, strategyOf(vault)), deposit(address, ts, usd(units))]
  for (const { waitSeconds, growth, flow } of valuations) {
    ts += waitSeconds
    units = Math.floor((units * growth) / 1_000)
    const valueBeforeUsd = usd(units)
    if (flow === 'none') facts.push(mark(address, ts, valueBeforeUsd))
    if (flow === 'deposit') facts.push(deposit(address, ts, '250', valueBeforeUsd))
    units += flow === 'deposit' ? 250_000_000 : 0
    if (flow === 'withdraw') {
      const part = Math.floor(units / 3)
      units -= part
      const amounts = { amountUsd: usd(part), valueBeforeUsd, prices: { USDC: '1' } }
      facts.push(event(address, ts, { type: 'withdraw', ...amounts }))
    }
  }
  return facts
}

const usd = (units: number): string => (units / 1_000_000).toFixed(6)

const world = fc.record({
  facts: fc
    .tuple(...vaults.map(() => fc.array(valuation, { minLength: 34, maxLength: 50 })))
    .map((all) => all.map((valuations, index) => factsOf(vaults[index] ?? 0, valuations))),
  /** Order of the vaults whose facts are applied: some are days behind others. */
  turns: fc.array(fc.constantFrom(...vaults), { minLength: 300, maxLength: 300 }),
  batchSize: fc.integer({ min: 3, max: 40 }),
})

function interleaved(facts: readonly FactInput[][], turns: readonly number[]): FactInput[] {
  const left = facts.map((of) => [...of])
  const ordered = turns.flatMap((vault) => left[vault - 1]?.splice(0, 1) ?? [])
  return [...ordered, ...left.flat()]
}

/** A vault without facts on a day starts it with the end value of its last day before, and has no growth. */
const days = `
  select days.day, sum(held.start_usd)::text as start, sum(held.start_usd * held.growth)::text as grown
  from generate_series($2::integer, $3::integer) as days(day) cross join vault cross join lateral (
    select case when vault_day.day = days.day then start_usd else end_usd end as start_usd,
      case when vault_day.day = days.day then growth else 1 end as growth
    from vault_day where vault_id = vault.id and vault_day.day <= days.day
    order by vault_day.day desc limit 1) held
  where vault.strategy_id = $1 and held.start_usd > 0 group by days.day`

/** Computes the figures of the strategies from all days of all vaults. */
async function figuresOfAllDays(database: Database): Promise<object[]> {
  const newest = await database.query<{ id: string; at: number | null }>(
    {
      name: 'newest',
      text: `select strategy.id, max(equity_at)::float8 as at from strategy left join vault on strategy_id = strategy.id
        group by 1 order by 1`,
    },
    [],
  )
  return Promise.all(
    newest.map(async ({ id, at }) => {
      if (at === null) return { id, figuresDay: null, liveApr: null, sigma: null }
      const lastDay = newestCompleteDay(at)
      const rows = await database.query<{ day: number; start: string; grown: string }>({ name: 'days', text: days }, [
        ...[id, windowStart(lastDay), lastDay],
      ])
      const found = rows.map((row) => ({
        day: row.day,
        startUsd: new Decimal(row.start),
        grownUsd: new Decimal(row.grown),
      }))
      return { id, figuresDay: lastDay, ...realisedFigures(found, lastDay) }
    }),
  )
}

function storedFigures(database: Database): Promise<object[]> {
  const select = { id: true, figuresDay: true, liveApr: true, sigma: true }
  return database.prisma.strategy.findMany({ select, orderBy: { id: 'asc' } })
}

describe('the figures of strategies', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase()
  })
  afterAll(() => database.close())

  test('are those of all days of all vaults after each batch, for any late facts', async () => {
    let known = 0
    await fc.assert(
      fc.asyncProperty(world, async ({ facts, turns, batchSize }) => {
        await empty(database)
        await apply(
          database,
          [...strategies].map((id) => strategy(id)),
        )
        const all = interleaved(facts, turns)
        for (let at = 0; at < all.length; at += batchSize) {
          await apply(database, all.slice(at, at + batchSize))
          const stored = await storedFigures(database)
          expect(stored).toEqual(await figuresOfAllDays(database))
          known += stored.filter((figures) => 'sigma' in figures && figures.sigma !== null).length
        }
      }),
      { numRuns: 3, endOnFailure: true },
    )
    expect(known).toBeGreaterThan(10)
  })

  test('are those of all days of all vaults when several writers complete days concurrently', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ facts, batchSize }) => {
        await empty(database)
        await apply(
          database,
          [...strategies].map((id) => strategy(id)),
        )
        await Promise.all(
          [facts.slice(0, 2), facts.slice(2)].map(async (some, writer) => {
            const all = some.flat().sort((one, other) => one.ts - other.ts)
            for (let at = 0; at < all.length; at += batchSize) {
              const part = all.slice(at, at + batchSize)
              await apply(database, part, { source: { ...feedOf(part), name: `writer ${writer}` } })
            }
          }),
        )
        expect(await storedFigures(database)).toEqual(await figuresOfAllDays(database))
      }),
      { numRuns: 2, endOnFailure: true },
    )
  })

  test('cost no more at a new day where strategies have many vaults without facts on it', async () => {
    const marked = 12
    const series = { longSeries: 0, longPoints: 1, middlePoints: 1, points: 1, ledgerRows: 1 }
    const prices = { USDC: '1', WETH: '2500' }
    const cost = async (count: number): Promise<number> => {
      await empty(database)
      // A script is one transaction, in which nothing can be vacuumed.
      await buildWorld((sql) => runScript(database, sql.replace(/^vacuum /, '')), { vaults: count, ...series })
      const before = await storedFigures(database)
      const facts = Array.from({ length: marked }, (_, index) =>
        mark(vaultAddress(index + 1), worldEnd + day, '100000', { prices }),
      )
      const { rows } = await explainWrites(database, (explained) => apply(explained, facts))
      const stored = await storedFigures(database)
      expect(stored).toEqual(await figuresOfAllDays(database))
      expect(stored).not.toEqual(before)
      return rows
    }
    const few = await cost(600)
    expect(await cost(3_000)).toBeLessThan(1.1 * few)
    // Of 12 strategies, 40 days each, and few rows of each vault and strategy.
    expect(few).toBeLessThan(2_000)
  })
})
