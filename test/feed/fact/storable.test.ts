import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal, fineDigits, fineScale, roundUsd, usdDigits, usdScale } from '../../../src/domain/decimal.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import type { Summary } from '../../../src/feed/summary.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import type { Rejects } from '../../../src/feed/rejects/rejects.ts'
import { inputSource } from '../../../src/feed/reading/source.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { dumpReadModel } from '../../support/dump.ts'
import { feedText } from '../../support/feeds.ts'
import { apply, event, mark, midnight, opened, position, strategy, vaultA } from '../../support/world.ts'

/** Digits before and after the decimal point. */
const usd = [usdDigits, usdScale]
const fine = [fineDigits, fineScale]
const price = [60, 18]
/** Columns of sums over the vaults of a strategy, of amounts and of amounts times growth: up to 10^12 and 10^22 maxima. */
const sums: Readonly<Record<string, readonly number[]>> = {
  'strategy_day.change_usd': [usdDigits + 12, usdScale],
  'strategy_day.gain_usd': [usdDigits + fineDigits + 22, fineScale + usdScale],
}

test('every decimal column has the precision of the limits of its amounts', async () => {
  const database = await emptyDatabase()
  const columns = await database.query<{ name: string; before: number; behind: number }>(
    {
      name: 'decimal_columns',
      text: `select table_name || '.' || column_name as name, numeric_precision - numeric_scale as before,
          numeric_scale as behind
        from information_schema.columns where table_schema = 'public' and data_type = 'numeric' order by 1`,
    },
    [],
  )
  expect(columns.length).toBeGreaterThan(20)
  for (const { name, before, behind } of columns) {
    const isFine = /benchmark_|growth/.test(name)
    const wanted = sums[name] ?? (name.includes('.price_') ? price : isFine ? fine : usd)
    expect([before, behind], name).toEqual(wanted)
  }
})

/** Amounts of a feed, including the minimum and the maximum. */
const amount = (digits: number, decimals: number) =>
  fc.oneof(
    fc.constantFrom('0', '1', `0.${'0'.repeat(decimals - 1)}1`, '9'.repeat(digits), `1${'0'.repeat(digits - 1)}`),
    fc.integer({ min: 1, max: digits }).map((length) => '7'.repeat(length)),
  )
const anyUsd = amount(usdDigits, usdScale)
const prices = fc.record({ USDC: amount(60, 18), PEPE: amount(60, 18) })

/** Returns a fact of the vault at a time in seconds. */
const fact: fc.Arbitrary<(ts: number) => FactInput> = fc.oneof(
  fc.tuple(anyUsd, prices, anyUsd).map(
    ([found, at, rewards]) =>
      (ts: number) =>
        mark(vaultA, ts, found, {
          prices: at,
          positions: [{ ...position('p'), pendingRewardsUsd: rewards }],
          fees: { contributedUsd: rewards, withdrawnUsd: rewards, taxedUsd: rewards, highWaterUsd: rewards },
        }),
  ),
  fc.tuple(anyUsd, prices, anyUsd).map(([found, at, taken]) => (ts: number) => {
    const amountUsd = new Decimal(found).lessThan(taken) ? found : taken
    return event(vaultA, ts, { type: 'withdraw', amountUsd, valueBeforeUsd: found, prices: at })
  }),
  fc
    .tuple(anyUsd, prices, fc.constantFrom('USDC', 'PEPE'), amount(40, 18))
    .map(([found, at, symbol, quantity]) => (ts: number) => {
      const amountUsd = roundUsd(new Decimal(quantity).times(at[symbol])).toFixed()
      return event(vaultA, ts, {
        type: 'deposit',
        amountUsd,
        assets: [{ symbol, amount: quantity }],
        valueBeforeUsd: found,
        prices: at,
      })
    }),
)

/** Facts between a few minutes and more than a month apart, so that strategies have figures, too. */
const facts = fc
  .array(fc.tuple(fact, fc.constantFrom(0, 600, 86_400, 40 * 86_400)), { minLength: 1, maxLength: 12 })
  .map((list) => {
    let ts = midnight
    return [strategy('one'), opened(vaultA, 'one'), ...list.map(([made, wait]) => made((ts += wait + 1)))]
  })

describe('any applied fact can be stored,', () => {
  const aside: Rejects = { file: 'none', write: () => Promise.resolve() }
  const applied = async (database: TestDatabase, lines: readonly string[]): Promise<[Summary, unknown]> => {
    await emptyDatabase()
    const source = inputSource(Readable.from(lines.map((line) => Buffer.from(line))))
    return [await ingest({ database, source, rejects: aside }), await dumpReadModel(database)]
  }

  test('and rejections do not depend on batches', async () => {
    const database = await emptyDatabase()
    const marks = { applied: 0, rejected: 0 }
    await fc.assert(
      fc.asyncProperty(facts, async (list) => {
        const atOnce = await applied(database, [feedText(list)])
        expect(
          await applied(
            database,
            list.map((one) => feedText([one])),
          ),
        ).toEqual(atOnce)
        marks.applied += atOnce[0].applied.mark ?? 0
        marks.rejected += atOnce[0].rejected.mark ?? 0
      }),
      { numRuns: 40 },
    )
    expect(Object.values(marks)).not.toContain(0)
  })

  test("and a strategy's figures too, where the product of days exceeds the range of a double", async () => {
    const database = await emptyDatabase()
    const [found, taken] = [`2${'0'.repeat(30)}`, `1${'9'.repeat(30)}.999999`]
    const days = Array.from({ length: 32 }, (_, number) => {
      const ts = midnight + number * 86_400 + 10
      const all = { type: 'withdraw', amountUsd: taken, valueBeforeUsd: found, prices: {} } as const
      return [mark(vaultA, ts, '0.000001', { prices: {} }), event(vaultA, ts + 10, all)]
    }).flat()
    const { rejected } = await apply(database, [strategy('one'), opened(vaultA, 'one'), ...days])
    expect(rejected).toEqual({})
    const [figures] = await database.prisma.strategy.findMany({ select: { liveApr: true, sigma: true } })
    expect(figures).toEqual({ liveApr: null, sigma: null })
  })
})
