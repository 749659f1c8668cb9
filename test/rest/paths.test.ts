import { beforeAll, describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import { emptyDatabase } from '../support/database.ts'
import { everything, screen, vaultThatIs } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { apply, deposit, event, mark, midnight, opened, owner, position, strategy, vaultA } from '../support/world.ts'

const text = expect.any(String) as unknown
const number = expect.any(Number) as unknown
const integer = expect.toSatisfy(Number.isSafeInteger, 'an integer') as unknown
const address = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as unknown
const orNull = (type: string): unknown =>
  expect.toSatisfy((value: unknown) => value === null || typeof value === type, `a ${type} or null`) as unknown

const somePosition = {
  id: text,
  pool: { a: text, b: text, venue: text, feeTier: integer },
  range: { lower: number, upper: number, current: number },
  inRange: expect.any(Boolean) as unknown,
  pendingRewardsUsd: number,
}

const snapshotWith = (positions: number, status: string): object => ({
  vault: address,
  owner: address,
  status,
  strategy: text,
  valueUsd: number,
  capitalInUsd: number,
  capitalOutUsd: number,
  netUsd: number,
  strategyDeltaUsd: number,
  marketDeltaUsd: number,
  positions: Array.from({ length: positions }, () => somePosition),
  fees: { contributedUsd: number, withdrawnUsd: number, taxedUsd: number, highWaterUsd: number },
  suspension: null,
  updatedAt: integer,
})

describe('the six paths, on a database with all kinds of facts', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, everything)
    gateway = gatewayOn(database)
  })

  async function body(path: string): Promise<unknown> {
    const response = await gateway.get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    return response.json()
  }

  async function rows(path: string): Promise<unknown[]> {
    const list: unknown = await body(path)
    if (!Array.isArray(list) || list.length === 0) throw new Error(`${path} answers no bare array with anything in it`)
    return list as unknown[]
  }

  test.each([
    ['earning', 1],
    ['attention', 2],
    ['planting', 0],
    ['exiting', 1],
    ['idle', 0],
  ] as const)(
    'a snapshot of a vault that is %s has the fields of the interface and no more',
    async (status, positions) => {
      expect(await body(`/vault/${vaultThatIs[status]}/snapshot`)).toStrictEqual(snapshotWith(positions, status))
    },
  )

  test('a snapshot of a suspended vault has the reason, the time, and the note that exits remain open', async () => {
    const suspension = { reason: 'an oracle strays', since: integer, exitsAvailable: true }
    expect(await body(`/vault/${vaultThatIs.suspended}/snapshot`)).toStrictEqual({
      ...snapshotWith(1, 'suspended'),
      suspension,
    })
  })

  test('equity is a list of points', async () => {
    for (const point of await rows(`/vault/${vaultThatIs.earning}/equity`)) {
      expect(point).toStrictEqual({ ts: integer, valueUsd: number, capitalInUsd: number, capitalOutUsd: number })
    }
  })

  test('events are a list of rows of the ledger', async () => {
    for (const row of await rows(`/vault/${vaultThatIs.suspended}/events`)) {
      expect(row).toStrictEqual({
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown,
        logIndex: integer,
        block: integer,
        ts: integer,
        type: expect.stringMatching(/^[a-z]+$/) as unknown,
        amountUsd: orNull('number'),
        positionId: orNull('string'),
        reason: orNull('string'),
      })
    }
  })

  test('strategies are a list, with realised returns or null before there are any', async () => {
    const [seasoned, fresh] = (await rows('/strategies')) as { pairs: unknown; liveApr: unknown; sigma: unknown }[]
    const copy = (id: string): object => ({
      id,
      name: `The ${id}`,
      tagline: `${id} in a line`,
      description: `What ${id} does`,
    })
    expect(seasoned).toStrictEqual({
      ...copy('seasoned'),
      pairs: screen.strategies['seasoned'],
      liveApr: number,
      sigma: number,
    })
    expect(fresh).toStrictEqual({ ...copy('fresh'), pairs: screen.strategies['fresh'], liveApr: null, sigma: null })
  })

  test("the universe is a list of assets, in the screen's order, with categories in words", async () => {
    const assets = screen.assets.map((asset) => ({ ...asset, liquidityUsd: Number(asset.liquidityUsd) }))
    expect(await body('/universe')).toStrictEqual(assets)
    expect(assets.map(({ category }) => category)).toEqual(['major', 'stock token', 'stable', 'meme', 'major'])
  })

  test("pairs are a list, in the screen's order", async () => {
    const pairs = screen.pairs.map((pair) => ({ ...pair, tvlUsd: Number(pair.tvlUsd) }))
    expect(await body('/universe/pairs')).toStrictEqual(pairs)
  })
})

describe('the six paths, on known facts', () => {
  test('a snapshot equals its facts', async () => {
    const database = await emptyDatabase()
    const fees = { contributedUsd: '100', withdrawnUsd: '10', taxedUsd: '0.5', highWaterUsd: '7' }
    const positions = [position('in'), position('out', '110')]
    await apply(database, [
      strategy('one'),
      opened(vaultA, 'one'),
      deposit(vaultA, midnight + 10, '100'),
      mark(vaultA, midnight + 20, '107.25', { positions, fees, prices: { USDC: '1.01' } }),
    ])
    const pool = { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 }
    expect(await (await gatewayOn(database).get(`/vault/${vaultA}/snapshot`)).json()).toStrictEqual({
      vault: toAddress(vaultA),
      owner: toAddress(owner),
      status: 'attention',
      strategy: 'one',
      valueUsd: 107.25,
      capitalInUsd: 100,
      capitalOutUsd: 0,
      netUsd: 7.25,
      strategyDeltaUsd: 6.25,
      marketDeltaUsd: 1,
      positions: [
        { id: 'in', pool, range: { lower: 90, upper: 110, current: 100 }, inRange: true, pendingRewardsUsd: 1.5 },
        { id: 'out', pool, range: { lower: 90, upper: 110, current: 110 }, inRange: false, pendingRewardsUsd: 1.5 },
      ],
      fees: { contributedUsd: 100, withdrawnUsd: 10, taxedUsd: 0.5, highWaterUsd: 7 },
      suspension: null,
      updatedAt: midnight + 20,
    })
  })

  test('an empty read model answers empty lists', async () => {
    const { get } = gatewayOn(await emptyDatabase())
    for (const path of ['/strategies', '/universe', '/universe/pairs']) {
      expect(await (await get(path)).text()).toBe('[]')
    }
  })

  test('a vault that was only opened has no equity and no events', async () => {
    const database = await emptyDatabase()
    await apply(database, [strategy('one'), opened(vaultA, 'one')])
    const { get } = gatewayOn(database)
    expect(await (await get(`/vault/${vaultA}/equity`)).text()).toBe('[]')
    expect(await (await get(`/vault/${vaultA}/events`)).text()).toBe('[]')
    expect(await (await get(`/vault/${vaultA}/snapshot`)).json()).toMatchObject({ status: 'idle', valueUsd: 0 })
  })

  test('a row of the ledger equals its event', async () => {
    const database = await emptyDatabase()
    await apply(database, [
      strategy('one'),
      opened(vaultA, 'one'),
      deposit(vaultA, midnight + 10, '100.5'),
      event(vaultA, midnight + 11, { type: 'plant', positionId: 'p' }),
      event(vaultA, midnight + 12, { type: 'suspend', reason: 'a halt' }),
    ])
    const row = (ts: number): object => ({
      txHash: `0x${ts.toString(16).padStart(64, '0')}`,
      logIndex: ts % 1_000,
      block: ts,
      ts,
      amountUsd: null,
      positionId: null,
      reason: null,
    })
    expect(await (await gatewayOn(database).get(`/vault/${vaultA}/events`)).json()).toStrictEqual([
      { ...row(midnight + 12), type: 'suspend', reason: 'a halt' },
      { ...row(midnight + 11), type: 'plant', positionId: 'p' },
      { ...row(midnight + 10), type: 'deposit', amountUsd: 100.5 },
    ])
  })
})
