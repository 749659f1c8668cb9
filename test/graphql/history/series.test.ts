import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { downsample } from '../../../src/domain/equity.ts'
import { Decimal } from '../../../src/domain/decimal.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { realFeed } from '../../support/feeds.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { addressOf, apply, midnight, opened, strategy } from '../../support/world.ts'

interface Point {
  readonly ts: number
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
}

const long = addressOf(1)
/** Enough points that a thousand of them need second-level pages; a window has few of them. */
const marks = 4_300
const heights = {
  NET: (point: Point) => point.netUsd,
  STRATEGY: (point: Point) => point.strategyDeltaUsd,
  MARKET: (point: Point) => point.marketDeltaUsd,
  VALUE: (point: Point) => point.valueUsd,
} as const
type By = keyof typeof heights
/** Which mark of the curve is much higher than the others. */
const spikes = { NET: 2_222, STRATEGY: 2_222, MARKET: 1_111, VALUE: 2_222 } as const
const curves = Object.keys(heights) as By[]

/** A vault of 1 WETH with a deposit, whose price and value are independent, each with a spike at a different point. */
function waves(): FactInput[] {
  const flow = (ts: number, weth: string, before: string, index: number): FactInput => ({
    kind: 'event',
    ts,
    vault: long,
    block: index,
    txHash: `0x${String(index).padStart(64, '0')}`,
    logIndex: 0,
    type: 'deposit',
    amountUsd: weth,
    assets: [{ symbol: 'WETH', amount: '1' }],
    valueBeforeUsd: before,
    prices: { WETH: weth },
  })
  return [
    strategy('one'),
    opened(long, 'one'),
    flow(midnight, '2000', '0', 1),
    ...Array.from({ length: marks }, (_, index): FactInput[] => {
      const weth = (
        2_000 +
        300 * Math.sin(index / 300) +
        ((index * 7_919) % 101) +
        (index === spikes.MARKET ? 5_000 : 0)
      ).toFixed(6)
      const valueUsd = (
        2_500 +
        200 * Math.sin(index / 170) +
        ((index * 104_729) % 97) +
        (index === spikes.VALUE ? 5_000 : 0)
      ).toFixed(6)
      const ts = midnight + 60 * (index + 1)
      const mark: FactInput = { kind: 'mark', ts, vault: long, valueUsd, prices: { WETH: weth }, positions: [] }
      return index === 3_000 ? [mark, flow(ts, weth, valueUsd, 2)] : [mark]
    }).flat(),
  ]
}

describe('a series', () => {
  let database: TestDatabase
  let gateway: TestGateway
  let recorded: Point[]

  const read = async (by: By, points: number, since = 0) => {
    const document = `query ($v: Address!, $by: EquityCurve!, $points: Int!, $since: UnixTime) { vault(address: $v) { equity(by: $by, points: $points, since: $since) {
      ts valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd } } }`
    return (await gateway.query<{ vault: { equity: Point[] } }>(document, { v: long, by, points, since })).vault.equity
  }

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, waves())
    gateway = gatewayOn(database)
    recorded = await database.query<Point>(
      {
        name: 'all_points',
        text: `select ts::float8 as ts, value_usd::float8 as "valueUsd", capital_in_usd::float8 as "capitalInUsd",
            capital_out_usd::float8 as "capitalOutUsd", (value_usd + capital_out_usd - capital_in_usd)::float8 as "netUsd",
            (value_usd + capital_out_usd - capital_in_usd - market_delta_usd)::float8 as "strategyDeltaUsd",
            market_delta_usd::float8 as "marketDeltaUsd" from equity_point order by ts`,
      },
      [],
    )
    expect(recorded).toHaveLength(marks + 1)
  })

  test.each(curves)(
    'thinned by %s is of recorded points, with its spike and its ends, for any number of points',
    async (by) => {
      const known = new Map(recorded.map((point) => [point.ts, point]))
      for (const points of [3, 40, 200, 1_500]) {
        const served = await read(by, points)
        expect(served).toHaveLength(points)
        for (const point of served) expect(point).toEqual(known.get(point.ts))
        expect([served[0]?.ts, served.at(-1)?.ts]).toEqual([recorded[0]?.ts, recorded.at(-1)?.ts])
        if (points > 3) expect(served).toContainEqual(recorded[1 + spikes[by]])
      }
    },
  )

  test.each(curves)(
    'thinned by %s is near to the curve, as near as one that is thinned from all points',
    async (by) => {
      const curve = { length: recorded.length, x: recorded.map(({ ts }) => ts), y: recorded.map(heights[by]) }
      const whole = downsample(curve, 60).map((index) => recorded[index] as Point)
      const area = distance(recorded, await read(by, 60), heights[by])
      expect(area).toBeLessThan(1.25 * distance(recorded, whole, heights[by]))
    },
  )

  test.each(curves)('of few points by %s is thinned from all of them', async (by) => {
    const since = recorded.at(-700)?.ts ?? 0
    const some = recorded.filter(({ ts }) => ts >= since)
    const curve = { length: some.length, x: some.map(({ ts }) => ts), y: some.map(heights[by]) }
    expect(await read(by, by === 'NET' ? 400 : 100, since)).toEqual(
      downsample(curve, by === 'NET' ? 400 : 100).map((index) => some[index]),
    )
  })

  test.skipIf(realFeed === null)('keeps both invariants on every point of a feed of a real market', async () => {
    await emptyDatabase()
    const lines = gunzipSync(readFileSync(realFeed ?? ''))
      .toString()
      .trim()
      .split('\n')
    await apply(database, lines)
    const addresses = [...new Set(lines.flatMap((line) => /"vault":"(\w+)"/.exec(line)?.[1] ?? []))]
    expect(addresses).toHaveLength(4)
    for (const address of addresses) {
      const document = `query ($v: Address!) { vault(address: $v) { netUsd marketDeltaUsd equity(points: 2000) {
        ts valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd } } }`
      const { vault } = await gateway.query<{ vault: Pick<Point, 'netUsd' | 'marketDeltaUsd'> & { equity: Point[] } }>(
        document,
        { v: address },
      )
      const { netUsd, marketDeltaUsd, equity } = vault
      for (const point of equity) {
        const net = new Decimal(point.valueUsd).plus(point.capitalOutUsd).minus(point.capitalInUsd)
        expect(net.toNumber()).toBe(point.netUsd)
        expect(new Decimal(point.strategyDeltaUsd).plus(point.marketDeltaUsd).toNumber()).toBe(point.netUsd)
      }
      expect(equity.at(-1) ?? { netUsd: 0, marketDeltaUsd: 0 }).toMatchObject({ netUsd, marketDeltaUsd })
    }
  })
})

/** Distance of each recorded point from the lines between the served ones. */
function distance(recorded: readonly Point[], served: readonly Point[], height: (point: Point) => number): number {
  let segment = 0
  return recorded.reduce((area, point) => {
    while (segment < served.length - 2 && (served[segment + 1] as Point).ts < point.ts) segment++
    const [from, to] = [served[segment] as Point, served[segment + 1] as Point]
    const share = (point.ts - from.ts) / (to.ts - from.ts)
    return area + Math.abs(height(point) - (height(from) * (1 - share) + height(to) * share))
  }, 0)
}
