import { beforeAll, describe, expect, test } from 'vitest'
import { Decimal } from '../../src/domain/decimal.ts'
import { emptyDatabase } from '../support/database.ts'
import { exactJson } from '../support/exact-json.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf } from '../support/problem.ts'
import { apply, deposit, event, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

interface Point {
  readonly ts: Decimal
  readonly netUsd: Decimal
  readonly changeUsd: Decimal | null
}

const hour = 3_600
const recorded = 60

let gateway: TestGateway

/** A mark at each hour; a deposit at the tenth hour and a withdrawal at the twentieth, neither of which is earnings. */
beforeAll(async () => {
  const database = await emptyDatabase()
  let valueMicros = 100_000_000n
  const facts = Array.from({ length: recorded - 1 }, (_, index) => {
    const ts = midnight + (index + 1) * hour
    valueMicros += BigInt((index * 7_919) % 1_000_003) - 400_001n
    const found = usd(valueMicros)
    if (index === 9) {
      valueMicros += 50_000_000n
      return deposit(vaultA, ts, '50', found)
    }
    if (index === 19) {
      valueMicros -= 30_000_000n
      return event(vaultA, ts, { type: 'withdraw', amountUsd: '30', valueBeforeUsd: found, prices: { USDC: '1' } })
    }
    return mark(vaultA, ts, found)
  })
  await apply(database, [
    strategy('one'),
    opened(vaultA, 'one'),
    deposit(vaultA, midnight, '100'),
    ...facts,
    opened(vaultB, 'one'),
  ])
  gateway = gatewayOn(database)
})

function usd(micros: bigint): string {
  return new Decimal(micros.toString()).div(1_000_000).toFixed(6)
}

async function equity(args = '', vault = vaultA): Promise<Point[]> {
  const source = `{ vault(address: "${vault}") { equity${args} { ts netUsd changeUsd } } }`
  const answer = exactJson(await (await gateway.post(source)).text())
  return (answer as { data: { vault: { equity: Point[] } } }).data.vault.equity
}

const times = (points: readonly Point[]): number[] => points.map(({ ts }) => ts.toNumber())

describe('changeUsd', () => {
  test.each([
    '',
    '(points: 2)',
    '(points: 3)',
    '(points: 17)',
    '(points: 59)',
    `(since: ${String(midnight + 30 * hour)}, points: 5)`,
  ])('sums to the difference of netUsd between the ends, exactly: equity%s', async (args) => {
    const points = await equity(args)
    const [first, last] = [points[0], points.at(-1)]
    const sum = points.slice(1).reduce((total, { changeUsd }) => total.plus(changeUsd ?? NaN), new Decimal(0))
    expect(sum.toFixed()).toBe(last?.netUsd.minus(first?.netUsd ?? NaN).toFixed())
    expect(sum.isZero()).toBe(false)
  })

  test('is null on the first point only', async () => {
    const nulls = (await equity()).map(({ changeUsd }) => changeUsd === null)
    expect(nulls).toEqual([true, ...Array.from({ length: recorded - 1 }, () => false)])
    const [first] = await equity(`(since: ${String(midnight + 40 * hour)})`)
    expect(first?.changeUsd).toBeNull()
  })

  test('of a deposit or withdrawal is the earnings of the vault without the flow', async () => {
    const points = await equity()
    for (const flow of [10, 20]) {
      const change = points[flow]?.changeUsd ?? new Decimal(NaN)
      expect(change.isZero()).toBe(false)
      expect(change.abs().lessThan(1)).toBe(true)
    }
  })
})

describe('equity', () => {
  test('is oldest first, since is inclusive and until exclusive', async () => {
    const [from, to] = [midnight + 5 * hour, midnight + 9 * hour]
    const span = await equity(`(since: ${String(from)}, until: ${String(to)})`)
    expect(times(span)).toEqual([from, from + hour, from + 2 * hour, from + 3 * hour])
  })

  test('has the requested number of points, including both ends', async () => {
    const all = times(await equity())
    expect(all).toHaveLength(recorded)
    const some = times(await equity('(points: 12)'))
    expect(some).toHaveLength(12)
    expect([some[0], some.at(-1)]).toEqual([all[0], all.at(-1)])
    expect(some.every((ts) => all.includes(ts))).toBe(true)
  })

  test('is empty for a vault without points', async () => {
    expect(await equity('', vaultB)).toEqual([])
  })

  test('can be requested several times in one query', async () => {
    const source = `{ vault(address: "${vaultA}") {
      few: equity(points: 2) { ts } early: equity(until: ${String(midnight + hour)}) { ts } } }`
    const { vault } = await gateway.query<{ vault: { few: unknown[]; early: unknown[] } }>(source)
    expect([vault.few.length, vault.early.length]).toEqual([2, 1])
  })
})

describe('bad arguments', () => {
  const source = `query ($since: UnixTime, $until: UnixTime, $points: Int! = 500) {
    vault(address: "${vaultA}") { equity(since: $since, until: $until, points: $points) { ts } } }`

  test.each([
    ['points', { points: 1 }],
    ['points', { points: 2_001 }],
    ['points', { points: -2 }],
    ['points', { points: 2.5 }],
    ['points', { points: '10' }],
    ['since', { since: -1 }],
    ['since', { since: 1.5 }],
    ['since', { since: '1700000000' }],
    ['since', { since: 253_402_300_800 }],
    ['since', { since: true }],
    ['until', { until: 1_700_000_000_000 }],
    ['until', { until: 'now' }],
    ['since', { since: 2, until: 1 }],
  ])('%s is named: %j', async (argument, variables) => {
    const error = await errorOf(await gateway.post(source, variables))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument })
  })
})
