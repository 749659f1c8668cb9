import { beforeEach, describe, expect, test } from 'vitest'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { apply, deposit, event, mark, midnight, opened, owner, strategy, vaultA } from '../../support/world.ts'

const [hour, day] = [3_600, 86_400]

/** Returns the end of a day, counted from `midnight`. */
const end = (days: number): number => midnight + days * day

interface Performance {
  readonly since: number | null
  readonly until: number | null
  readonly timeWeightedReturn: number | null
  readonly volatility: number | null
}

const none = { since: null, until: null, timeWeightedReturn: null, volatility: null }

let database: TestDatabase

/** Reads the performance of the vault, at a moment or now. */
async function read(at: number | null, window: { since?: number; until?: number } = {}) {
  const document = `query ($vault: Address!, $at: UnixTime, $since: UnixTime, $until: UnixTime) {
    vault(address: $vault, at: $at) { isFinal performance(since: $since, until: $until) {
      since until timeWeightedReturn volatility } } }`
  const variables = { vault: vaultA, at, ...window }
  return (
    await gatewayOn(database).query<{ vault: { isFinal: boolean; performance: Performance } }>(document, variables)
  ).vault
}

const rebalance = (ts: number): FactInput => event(vaultA, ts, { type: 'rebalance', positionId: '1' })

const started = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + hour, '1000')]

beforeEach(async () => {
  database = await emptyDatabase()
})

describe('the performance of a final state', () => {
  test.each([
    ['an event without a flow', rebalance(end(10))],
    ['a new owner', { kind: 'owner', ts: end(10), vault: vaultA, owner } as const],
  ])('is not changed by a mark after %s: value is carried to the moment', async (_, newest) => {
    await apply(database, [...started, mark(vaultA, midnight + day / 2, '1100'), newest])
    const before = await read(end(5))
    expect(before).toMatchObject({ isFinal: true, performance: { since: midnight, until: end(5) } })
    const carried = await read(end(5), { since: end(3) })
    expect(carried.performance).toMatchObject({ since: end(3), until: end(5), timeWeightedReturn: 0 })
    await apply(database, [mark(vaultA, end(12), '1200')])
    expect(await read(end(5))).toEqual(before)
    expect(await read(end(5), { since: end(3) })).toEqual(carried)
  })
})

describe('a day of a vault is complete when a fact is at its end or later', () => {
  const marks = Array.from({ length: 31 }, (_, index) => {
    const value = 1_000 - 7 * Math.ceil((index + 1) / 2) + 10 * Math.floor((index + 1) / 2)
    return mark(vaultA, end(index) + day / 2, String(value))
  })

  test.each([
    ['of a state in the past', end(31) + 5, {}],
    ['of the vault now', null, { until: end(31) }],
  ])('whether it leaves a point or not: the volatility %s has the day of the last mark', async (_, at, window) => {
    await apply(database, [...started, ...marks, rebalance(end(33))])
    const found = await read(at, window)
    expect(found.performance.until).toBe(end(31))
    expect(found.performance.volatility).toBeCloseTo(0.16203134364324884, 12)
    await apply(database, [mark(vaultA, end(34), '1100')])
    expect(await read(at, window)).toEqual(found)
  })

  test('and the current day counts, for any kind of first fact', async () => {
    await apply(database, [...started, ...marks, rebalance(end(33) + hour)])
    const found = await read(null)
    expect(found.performance).toMatchObject({ since: midnight, until: end(34) })
    expect((await read(null, { since: end(33) })).performance).toMatchObject({ since: end(33), until: end(34) })
    expect((await read(null, { since: end(34) })).performance).toEqual(none)
    // A valuation at the same value changes nothing.
    await apply(database, [mark(vaultA, end(33) + hour, '1038')])
    expect((await read(null)).performance).toEqual(found.performance)
  })

  test('but not by the clock: days after the newest fact do not count', async () => {
    await apply(database, [...started, ...marks])
    const found = await read(end(40))
    expect(found).toMatchObject({ isFinal: false, performance: { until: end(31), volatility: null } })
    expect((await read(null, { until: end(40) })).performance).toEqual(found.performance)
  })
})
