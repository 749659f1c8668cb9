import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { demoFacts } from '../../../src/feed/demo/demo.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { realFeed } from '../../support/feeds.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { addressOf, apply, midnight, opened, position, strategy } from '../../support/world.ts'

let database: TestDatabase
let gateway: TestGateway

async function restart(): Promise<void> {
  database = await emptyDatabase()
  gateway = gatewayOn(database)
}

async function snapshot(vault: string, at?: number): Promise<string> {
  const response = await gateway.get(`/vault/${vault}/snapshot${at === undefined ? '' : `?at=${at}`}`)
  return response.text()
}

/** Applies facts in steps, and records each vault's snapshot after each step that has reached the end of a second. */
async function keepSnapshots(facts: readonly FactInput[], stepLength: number): Promise<Map<string, string>> {
  const kept = new Map<string, string>()
  const vaults = new Set<string>()
  for (let from = 0; from < facts.length; from += stepLength) {
    const step = facts.slice(from, from + stepLength)
    expect(await apply(database, step)).toMatchObject({ rejected: {}, skipped: {} })
    const newest = new Map<string, number>()
    for (const fact of step) if ('vault' in fact) newest.set(fact.vault, fact.ts)
    for (const vault of newest.keys()) vaults.add(vault)
    for (const [vault, ts] of newest) kept.set(`${vault} ${ts}`, await snapshot(vault))
  }
  return kept
}

async function expectAll(kept: ReadonlyMap<string, string>): Promise<void> {
  for (const [moment, body] of kept) {
    const [vault = '', ts] = moment.split(' ')
    expect(await snapshot(vault, Number(ts)), moment).toBe(body)
  }
}

const prices = (weth: number) => ({ USDC: '1', WETH: String(weth) })

/** A step of a vault: delay in seconds, kind of fact, and numbers from which the fact is derived. */
const step = fc.record({
  wait: fc.constantFrom(0, 0, 0, 1, 60, 4_000),
  what: fc.constantFrom(
    ...(['mark', 'mark', 'told mark', 'high mark', 'deposit', 'withdraw', 'owner'] as const),
    ...(['plant', 'exit', 'suspend', 'resume', 'fee', 'harvest'] as const),
  ),
  value: fc.integer({ min: 0, max: 5_000_000 }),
  weth: fc.integer({ min: 1, max: 4_000 }),
  positions: fc.array(
    fc.record({
      id: fc.constantFrom('a', 'b', 'ü "c"'),
      current: fc.integer({ min: 60, max: 120 }),
      hasTicks: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Returns the facts of a vault's steps; a second has at most one mark and one owner. */
function factsOf(vault: string, steps: readonly Step[]): FactInput[] {
  let ts = midnight
  let valueUsd = 0
  const taken = new Set<string>()
  return [
    opened(vault, 'one'),
    ...steps.flatMap((one, index): FactInput[] => {
      ts += one.wait
      const key = `${one.what.replace(/.* /, '')} ${ts}`
      if (/mark|owner/.test(key) && taken.has(key)) return []
      taken.add(key)
      const fact = factOf(one, { vault, ts }, index, valueUsd)
      if (one.what.includes('mark')) valueUsd = one.value / 1_000
      if (one.what === 'deposit') valueUsd += 100 + one.weth
      if (one.what === 'withdraw') valueUsd -= halfOf(valueUsd)
      valueUsd = Number(valueUsd.toFixed(6))
      return [fact]
    }),
  ]
}

function halfOf(valueUsd: number): number {
  return Math.floor(valueUsd * 500_000) / 1_000_000
}

function factOf(
  { what, value, weth, positions }: Step,
  of: { readonly vault: string; readonly ts: number },
  index: number,
  valueUsd: number,
): FactInput {
  const event = {
    ...of,
    kind: 'event' as const,
    block: 1 + ((index * 7) % 5),
    txHash: `0x${String(index).padStart(64, '0')}`,
    logIndex: 0,
  }
  const before = { valueBeforeUsd: valueUsd.toFixed(6), prices: prices(weth) }
  const shown = [...new Map(positions.map((one) => [one.id, one])).values()].map(({ id, current, hasTicks }) => ({
    ...position(id, (current + 1 / 3).toFixed(current % 19)),
    ...(hasTicks && { ticks: { lower: -100, upper: 100, current: current * 3 - 200 } }),
    pendingRewardsUsd: (value / 7).toFixed(current % 7),
  }))
  const mark = {
    ...of,
    kind: 'mark' as const,
    valueUsd: (value / 1_000).toFixed(6),
    prices: prices(weth),
    positions: shown,
  }
  const totals = { contributedUsd: String(weth), withdrawnUsd: '1', taxedUsd: '0.5', highWaterUsd: String(value) }
  switch (what) {
    case 'mark':
      return mark
    case 'told mark':
      return { ...mark, fees: totals }
    case 'high mark':
      return { ...mark, highWaterValueUsd: String(value) }
    case 'deposit': {
      const assets = [
        { symbol: 'USDC', amount: '100' },
        { symbol: 'WETH', amount: '1' },
      ]
      return { ...event, ...before, type: what, amountUsd: String(100 + weth), assets }
    }
    case 'withdraw':
      return { ...event, ...before, type: what, amountUsd: halfOf(valueUsd).toFixed(6) }
    case 'owner':
      return { ...of, kind: 'owner', owner: addressOf(900 + (weth % 3)) }
    case 'suspend':
      return { ...event, type: what, reason: `reason ${weth}` }
    case 'resume':
      return { ...event, type: what }
    case 'fee':
      return { ...event, type: what, amountUsd: (weth / 8).toFixed(3) }
    case 'plant':
    case 'exit':
    case 'harvest':
      return { ...event, type: what, positionId: 'a' }
  }
}

describe('a vault at a moment in the past', () => {
  test('equals the bytes that were served then, for facts of one second in any order and any batches', async () => {
    const lives = fc.array(fc.array(step, { minLength: 10, maxLength: 25, size: 'max' }), {
      minLength: 16,
      maxLength: 16,
    })
    const property = fc.asyncProperty(lives, fc.integer({ min: 20, max: 150 }), async (vaults, together) => {
      await restart()
      await apply(database, [strategy('one')])
      const stepwise = vaults.map((steps, index) => factsOf(addressOf(1 + index), steps))
      const longest = Math.max(...stepwise.map(({ length }) => length))
      const kept = new Map<string, string>()
      // One fact of each vault at a time.
      for (let at = 0; at < longest; at++) {
        const some = stepwise.flatMap((facts) => facts.slice(at, at + 1))
        for (const [moment, body] of await keepSnapshots(some, some.length)) kept.set(moment, body)
      }
      await expectAll(kept)
      const batched = vaults.flatMap((steps, index) => factsOf(addressOf(1_001 + index), steps))
      for (let at = 0; at < batched.length; at += together) await apply(database, batched.slice(at, at + together))
      for (const [moment, body] of kept) {
        const [vault = '', ts] = moment.split(' ')
        const other = addressOf(Number(vault.slice(2)) + 1_000)
        expect(await snapshot(other, Number(ts)), moment).toBe(body.replace(vault, other))
      }
    })
    await fc.assert(property, { numRuns: 1, endOnFailure: true })
  })

  test('equals the served bytes in the demo world', async () => {
    await restart()
    const kept = await keepSnapshots(demoFacts(midnight), 400)
    expect(kept.size).toBeGreaterThan(10)
    await expectAll(kept)
  })

  test.skipIf(realFeed === null)('equals the served bytes on a feed of a real market', async () => {
    await restart()
    const lines = gunzipSync(readFileSync(realFeed ?? ''))
      .toString()
      .trim()
      .split('\n')
    const kept = await keepSnapshots(
      lines.map((line) => JSON.parse(line) as FactInput),
      100,
    )
    expect(kept.size).toBeGreaterThan(40)
    await expectAll(kept)
  })
})
