import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database, Reader } from '../../../src/database/database.ts'
import { readEquity, type Window } from '../../../src/database/read/equity.ts'
import type { EquityRow } from '../../../src/database/read/rows.ts'
import { downsample } from '../../../src/domain/equity.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { createDatabase, empty, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { explainReads } from '../../support/explain.ts'
import { lengthenSeries, minuteOf, spikeAt } from '../../support/series.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../../support/world.ts'

const ever: Window = { since: 0, until: 253_402_300_799 }
const long = addressOf(1)
const longPoints = 200_000
const short = addressOf(2)
const shortPoints = 2_000

type RecordedPoint = Omit<EquityRow, 'previousNetUsd'>

/** Returns recorded points as they are served: each with the net of the one before it. */
function asServed(points: readonly RecordedPoint[]): EquityRow[] {
  return points.map((point, order) => ({ ...point, previousNetUsd: points[order - 1]?.netUsd ?? null }))
}

/** Reads all recorded points of a vault. */
function recordedPoints(database: Database, vault: string): Promise<RecordedPoint[]> {
  const text = `select address as "vaultAddress", ts::float8 as ts, trim_scale(point.value_usd)::text as "valueUsd",
      trim_scale(point.capital_in_usd)::text as "capitalInUsd", trim_scale(point.capital_out_usd)::text as "capitalOutUsd",
      trim_scale(point.value_usd + point.capital_out_usd - point.capital_in_usd)::text as "netUsd",
      trim_scale(point.market_delta_usd)::text as "marketDeltaUsd"
    from equity_point point join vault on id = vault_id where address = $1 order by ts`
  return database.query({ name: 'recorded_points', text }, [vault])
}

function inWindow(points: readonly RecordedPoint[], { since, until }: Window): RecordedPoint[] {
  return points.filter(({ ts }) => ts >= since && ts < until)
}

/** Downsamples the whole series in one step. */
function thinned(points: readonly RecordedPoint[], count: number): EquityRow[] {
  const curve = {
    length: points.length,
    x: points.map(({ ts }) => ts),
    y: points.map(({ netUsd }) => Number(netUsd)),
  }
  return asServed(downsample(curve, count).map((index) => points[index] as RecordedPoint))
}

describe('a series of any length', () => {
  let database: TestDatabase
  let recorded: RecordedPoint[]
  let known: ReadonlyMap<number, RecordedPoint>

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, [strategy('one'), opened(long, 'one'), opened(short, 'one')])
    await lengthenSeries(database, long, longPoints)
    await lengthenSeries(database, short, shortPoints)
    recorded = await recordedPoints(database, long)
    expect(recorded).toHaveLength(longPoints)
    known = new Map(recorded.map((point) => [point.ts, point]))
  }, 120_000)

  const minute = fc.integer({ min: -10, max: longPoints + 10 })
  /** Windows of any size, with ends at a point or a bucket, or a second off. */
  const span: fc.Arbitrary<Window> = fc
    .tuple(
      minute,
      fc.oneof(fc.nat(longPoints), fc.nat(5_000), fc.nat(40)),
      fc.constantFrom(1, 4, 64, 4_096),
      fc.boolean(),
    )
    .chain(([from, length, step, beside]) => {
      const since = minuteOf(from - (from % step)) + (beside ? 1 : 0)
      return fc
        .integer({ min: 0, max: 1 })
        .map((more) => ({ since, until: since + 60 * (length - (length % step)) + more }))
    })
  const count = fc.oneof(fc.integer({ min: 2, max: 70 }), fc.integer({ min: 2, max: 2_000 }))

  test('is represented by the requested number of recorded points, in order, with its ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.constant(ever), span), count, async (window, points) => {
        const all = inWindow(recorded, window)
        const served = await readEquity(database, [long], window, points)
        expect(served).toHaveLength(Math.min(points, all.length))
        const kept = served.map(({ ts }) => known.get(ts) as RecordedPoint)
        expect([kept[0], kept.at(-1)]).toEqual([all[0], all.at(-1)])
        expect(served).toEqual(asServed(kept))
        expect(served.every(({ ts }, index) => ts > (served[index - 1]?.ts ?? -1))).toBe(true)
      }),
      { numRuns: 150 },
    )
  })

  test('is complete, or downsampled from all its points, where the window has few', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 400 }), fc.nat(), fc.nat(), async (points, from, length) => {
        const since = minuteOf(from % longPoints)
        const window = { since, until: since + 60 * (1 + (length % (4 * Math.max(points, 64)))) }
        const served = await readEquity(database, [long], window, points)
        expect(served).toEqual(thinned(inWindow(recorded, window), points))
      }),
    )
  })

  test('keeps its only spike, for any number of requested points', async () => {
    const spike = recorded[spikeAt]
    for (const points of [3, 50, 500, 2_000]) {
      expect(await readEquity(database, [long], ever, points), String(points)).toContainEqual(
        expect.objectContaining(spike as RecordedPoint),
      )
    }
  })

  test('keeps the shape: between the returned points the curve is close to the recorded one', async () => {
    const served = await readEquity(database, [long], ever, 500)
    const whole = thinned(recorded, 500)
    expect(areaBetween(recorded, served)).toBeLessThan(1.2 * areaBetween(recorded, whole))
  })

  describe.each([
    ['before the tables have statistics', () => Promise.resolve(0)],
    ['once they are of now', () => database.prisma.$executeRawUnsafe('analyze')],
  ])('%s', (_, analyze) => {
    beforeAll(analyze)

    test('is read by a number of rows that depends on the requested points, and not on its length', async () => {
      const windows = [ever, ...fc.sample(span, { numRuns: 60, seed: 7 })]
      for (const window of windows) {
        for (const points of [2, 64, 500, 2_000]) {
          const { rows, scans } = await explainReads(database, (counted) => readEquity(counted, [long], window, points))
          expect(rows, `${JSON.stringify(window)} by ${points}: ${scans.join(', ')}`).toBeLessThan(
            5 * Math.max(points, 64) + 150,
          )
        }
      }
    })

    test('is read by about as many rows as a series of a hundredth of its length', async () => {
      const read = (vault: string) => explainReads(database, (counted) => readEquity(counted, [vault], ever, 500))
      expect((await read(long)).rows).toBeLessThan(2 * (await read(short)).rows)
    })
  })

  test('is read by a cached plan: planning takes longer than the read', async () => {
    let text = ''
    const sent: Reader = { query: (read) => ((text = read.text), Promise.resolve([])) }
    await readEquity(sent, [long], ever, 500)
    const kept = await database.prisma.$transaction(async (transaction) => {
      await transaction.$executeRawUnsafe(`prepare series (text[], bigint, bigint, integer) as ${text}`)
      for (let time = 0; time < 7; time++) {
        await transaction.$executeRawUnsafe(`execute series ('{${long}}', ${ever.since}, ${ever.until}, 500)`)
      }
      const [plans] = await transaction.$queryRawUnsafe<{ kept: number }[]>(
        `select generic_plans::integer as kept from pg_prepared_statements where name = 'series'`,
      )
      await transaction.$executeRawUnsafe('deallocate series')
      return plans?.kept
    })
    expect(kept).toBeGreaterThan(0)
  })

  test('is read together with others by one statement, with the same results', async () => {
    database.takeStatements()
    const together = await readEquity(database, [short, addressOf(3), long], ever, 100)
    expect(database.takeStatements()).toHaveLength(1)
    const [one, other] = [await readEquity(database, [short], ever, 100), await readEquity(database, [long], ever, 100)]
    expect(together).toHaveLength(200)
    expect(together.filter(({ vaultAddress }) => vaultAddress === short)).toEqual(one)
    expect(together.filter(({ vaultAddress }) => vaultAddress === long)).toEqual(other)
  })
})

/** Distance of each recorded point from the lines between the returned points, net of flows. */
function areaBetween(recorded: readonly RecordedPoint[], served: readonly EquityRow[]): number {
  let segment = 0
  return recorded.reduce((area, { ts, netUsd }) => {
    while (segment < served.length - 2 && (served[segment + 1] as EquityRow).ts < ts) segment++
    const [from, to] = [served[segment] as EquityRow, served[segment + 1] as EquityRow]
    const share = (ts - from.ts) / (to.ts - from.ts)
    return area + Math.abs(Number(netUsd) - (Number(from.netUsd) * (1 - share) + Number(to.netUsd) * share))
  }, 0)
}

interface Bucket {
  readonly level: number
  readonly ordinal: number
  readonly first: number
  readonly last: number
  readonly least: RecordedPoint
  readonly greatest: RecordedPoint
}

/** Computes the buckets of a series from all of its points. */
function bucketsOf(points: readonly RecordedPoint[]): Bucket[] {
  const levels = [1, 2, 3, 4, 5, 6].map((level) => ({ level, size: 4 ** level }))
  return levels.flatMap(({ level, size }) =>
    Array.from({ length: Math.floor(Math.max(0, points.length - 1) / size) }, (_, ordinal) => {
      const held = points.slice(ordinal * size, (ordinal + 1) * size)
      const byNet = held.toSorted((one, other) => Number(one.netUsd) - Number(other.netUsd))
      const greatestNet = byNet.at(-1)?.netUsd
      return {
        level,
        ordinal,
        first: held[0]?.ts ?? NaN,
        last: held.at(-1)?.ts ?? NaN,
        least: byNet[0] as RecordedPoint,
        greatest: held.find(({ netUsd }) => netUsd === greatestNet) as RecordedPoint,
      }
    }),
  )
}

interface Page {
  readonly level: number
  readonly ordinal: number
  readonly first: number
  readonly last: number
  readonly lines: readonly string[]
}

/** Computes the complete pages from buckets. */
function pagesOf(buckets: readonly Bucket[]): Page[] {
  return [1, 2, 3, 4, 5].flatMap((level) => {
    const all = buckets.filter((bucket) => bucket.level === level)
    return Array.from({ length: Math.floor(all.length / 16) }, (_, ordinal) => {
      const held = all.slice(16 * ordinal, 16 * (ordinal + 1))
      const ends = held.flatMap(({ least, greatest }) => [least, greatest].sort((one, other) => one.ts - other.ts))
      const lines = ends.map((row) =>
        [row.ts, row.netUsd, row.capitalInUsd, row.capitalOutUsd, row.marketDeltaUsd].join(' '),
      )
      return { level, ordinal, first: held[0]?.first ?? NaN, last: held.at(-1)?.last ?? NaN, lines }
    })
  })
}

function keptPages(database: Database, vault: string): Promise<Page[]> {
  const text = `select level, ordinal, first_ts::float8 as first, last_ts::float8 as last, string_to_array(candidates, E'\\n') as lines
    from equity_page join vault on id = vault_id where address = $1 order by level, ordinal`
  return database.query({ name: 'kept_pages', text }, [vault])
}

/** Returns this number of marks, a minute apart. */
function wave(vault: string, count: number, from = 0): FactInput[] {
  return Array.from({ length: count }, (_, index) => {
    const at = from + index
    return mark(vault, minuteOf(at), String(1_000 + ((at * 7_919) % 101) + at / 8))
  })
}

describe('the pages that are kept', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase()
  })

  afterAll(() => database.close())

  /** A step of a vault: seconds since the last one, 0 for another fact of the same second, and the valuation. */
  const step = fc.record({
    vault: fc.constantFrom(long, short),
    wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90 })),
    found: fc.integer({ min: 1, max: 6 }),
    what: fc.constantFrom('mark', 'mark', 'mark', 'deposit', 'withdraw'),
  })

  function factsOf(steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[]): FactInput[] {
    const newest = new Map([long, short].map((vault) => [vault, midnight]))
    const marked = new Set<string>()
    return steps.map(({ vault, wait, found, what }, index) => {
      const ts = (newest.get(vault) ?? midnight) + wait
      newest.set(vault, ts)
      const txHash = `0x${index.toString(16).padStart(64, '0')}`
      const second = `${vault} ${ts}`
      if (what === 'mark' && !marked.has(second)) {
        marked.add(second)
        return mark(vault, ts, String(found))
      }
      if (what === 'withdraw') {
        const taken = {
          type: 'withdraw' as const,
          amountUsd: '1',
          valueBeforeUsd: String(found),
          prices: { USDC: '1' },
        }
        return { ...event(vault, ts, taken), txHash } as FactInput
      }
      return { ...deposit(vault, ts, '2', String(found)), txHash } as FactInput
    })
  }

  test('equal those computed from all points, for any batches and any facts of the same second', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 600, size: 'max' })
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), async (some, sizes) => {
        await empty(database)
        await apply(database, [strategy('one'), opened(long, 'one'), opened(short, 'one')])
        const facts = factsOf(some)
        for (let at = 0, batch = 0; at < facts.length; batch++) {
          const size = sizes[batch % sizes.length] as number
          expect(await apply(database, facts.slice(at, at + size))).toMatchObject({ rejected: {}, skipped: {} })
          at += size
        }
        for (const vault of [long, short]) {
          const points = await recordedPoints(database, vault)
          expect(await keptPages(database, vault)).toEqual(pagesOf(bucketsOf(points)))
          expect(await pointCount(database, vault)).toBe(points.length)
        }
      }),
      { numRuns: 25 },
    )
  })

  test('are written as soon as they are complete, one line for each end of a bucket, ascending by time', async () => {
    for (const batch of [37, 300]) {
      await empty(database)
      await apply(database, [strategy('one'), opened(long, 'one'), opened(short, 'one')])
      const facts = wave(long, 1_030).flatMap((fact, index) => [fact, ...(index < 260 ? wave(short, 1, index) : [])])
      for (let at = 0; at < facts.length; at += batch) await apply(database, facts.slice(at, at + batch))
      for (const [vault, pages] of [
        [long, 16 + 4 + 1],
        [short, 4 + 1],
      ] as const) {
        const kept = await keptPages(database, vault)
        expect(kept).toEqual(pagesOf(bucketsOf(await recordedPoints(database, vault))))
        expect(kept).toHaveLength(pages)
      }
    }
  }, 120_000)
})

async function pointCount(database: Database, vault: string): Promise<number | undefined> {
  const text = 'select point_count as count from vault where address = $1'
  const [row] = await database.query<{ count: number }>({ name: 'point_count', text }, [vault])
  return row?.count
}
