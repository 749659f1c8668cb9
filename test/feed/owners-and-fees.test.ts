import { beforeEach, describe, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { dump } from '../support/dump.ts'
import { gatewayOn } from '../support/gateway.ts'
import {
  addressOf,
  apply,
  deposit,
  event,
  mark,
  midnight,
  opened,
  owner,
  strategy,
  vaultA,
  vaultB,
} from '../support/world.ts'

const [second, third] = [addressOf(2), addressOf(3)]
const owned = (vault: string, ts: number, by: string): FactInput => ({ kind: 'owner', ts, vault, owner: by })
const beginning: FactInput[] = [strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'one')]

let database: TestDatabase
beforeEach(async () => {
  database = await emptyDatabase()
})

async function ownersOf(by?: string): Promise<string[]> {
  const filter = by === undefined ? '' : `, where: { owner: ["${by}"] }`
  const { vaults } = await gatewayOn(database).query<{ vaults: { nodes: { address: string; owner: string }[] } }>(
    `{ vaults(first: 10, orderBy: { field: ADDRESS, direction: ASC }${filter}) { nodes { address owner } } }`,
  )
  return vaults.nodes.map(({ address, owner: of }) => `${address} ${of}`.toLowerCase())
}

describe('an owner fact', () => {
  test('names the owner from then on, in the snapshot and in lists by owner', async () => {
    await apply(database, [...beginning, owned(vaultA, midnight + 5, second)])
    expect(await ownersOf()).toEqual([`${vaultA} ${second}`, `${vaultB} ${owner}`])
    expect(await ownersOf(owner)).toEqual([`${vaultB} ${owner}`])
    await apply(database, [owned(vaultA, midnight + 9, third), owned(vaultB, midnight + 9, second)])
    expect(await ownersOf(second)).toEqual([`${vaultB} ${second}`])
    const snapshot = await (await gatewayOn(database).get(`/vault/${vaultA}/snapshot`)).json()
    expect(snapshot).toMatchObject({ owner: third, updatedAt: midnight + 9 })
  })

  test('is known by its vault and time, also after a newer one', async () => {
    const facts = [...beginning, owned(vaultA, midnight, second), owned(vaultA, midnight + 9, third)]
    await apply(database, facts)
    const before = await dump(database)
    expect(await apply(database, facts)).toMatchObject({ applied: {}, skipped: { strategy: 1, vault: 2, owner: 2 } })
    expect(await dump(database)).toEqual(before)
    expect(await ownersOf(third)).toEqual([`${vaultA} ${third}`])
  })

  test.each<[string, FactInput, string]>([
    ['is of another owner at a known time', owned(vaultA, midnight + 9, owner), 'which has other contents'],
    ['is older than the newest fact of its vault', owned(vaultA, midnight + 8, owner), 'older than the vault'],
    ['is of an unknown vault', owned(addressOf(7), midnight + 9, owner), 'a vault that no fact has opened'],
    ['has an owner that is none', owned(vaultB, midnight + 9, '0x1'), 'owner'],
  ])('is bad where it %s', async (_name, fact, reason) => {
    await apply(database, [...beginning, owned(vaultA, midnight + 9, third)])
    await expect(apply(database, [fact])).rejects.toThrow(reason)
  })
})

describe('the fee summary', () => {
  const feesOf = async (): Promise<unknown> =>
    ((await (await gatewayOn(database).get(`/vault/${vaultA}/snapshot`)).json()) as { fees: unknown }).fees
  const withdrawal: FactInput = event(vaultA, midnight + 40, {
    type: 'withdraw',
    amountUsd: '30',
    valueBeforeUsd: '115',
    prices: { USDC: '1' },
  })
  const life: FactInput[] = [
    ...beginning,
    deposit(vaultA, midnight + 10, '100'),
    mark(vaultA, midnight + 20, '120'),
    event(vaultA, midnight + 25, { type: 'fee', amountUsd: '1.5' }),
    mark(vaultA, midnight + 30, '110'),
    withdrawal,
    event(vaultA, midnight + 45, { type: 'fee', amountUsd: '0.25' }),
  ]

  test('is derived from flows, fee rows and gains until a mark has one', async () => {
    await apply(database, life)
    expect(await feesOf()).toEqual({ contributedUsd: 100, withdrawnUsd: 30, taxedUsd: 1.75, highWaterUsd: 20 })
    const fees = { contributedUsd: '1', withdrawnUsd: '2', taxedUsd: '3', highWaterUsd: '4' }
    await apply(database, [
      mark(vaultA, midnight + 50, '85', { fees }),
      event(vaultA, midnight + 60, { type: 'fee', amountUsd: '5' }),
      mark(vaultA, midnight + 70, '500'),
    ])
    expect(await feesOf()).toEqual({ contributedUsd: 1, withdrawnUsd: 2, taxedUsd: 3, highWaterUsd: 4 })
  })

  test("has the vault's own high-water mark where marks have the value at it", async () => {
    await apply(database, [...life, mark(vaultA, midnight + 50, '85', { highWaterValueUsd: '97.5' })])
    // 97.5 + 30 - 100.
    expect(await feesOf()).toEqual({ contributedUsd: 100, withdrawnUsd: 30, taxedUsd: 1.75, highWaterUsd: 27.5 })
    await apply(database, [mark(vaultA, midnight + 60, '500'), deposit(vaultA, midnight + 70, '10', '500')])
    expect(await feesOf()).toEqual({ contributedUsd: 110, withdrawnUsd: 30, taxedUsd: 1.75, highWaterUsd: 27.5 })
    await apply(database, [mark(vaultA, midnight + 80, '510', { highWaterValueUsd: '1' })])
    expect(await feesOf()).toMatchObject({ highWaterUsd: 0 })
  })

  test('is refused in a mark with both forms', async () => {
    const fees = { contributedUsd: '1', withdrawnUsd: '2', taxedUsd: '3', highWaterUsd: '4' }
    const twice = mark(vaultA, midnight + 50, '85', { fees, highWaterValueUsd: '97.5' })
    await expect(apply(database, [...life, twice])).rejects.toThrow('highWaterValueUsd is there beside fees')
  })

  test('of a sum that cannot be stored is refused', async () => {
    const most = '9'.repeat(32)
    const fee = (ts: number): FactInput => event(vaultA, midnight + ts, { type: 'fee', amountUsd: most })
    await expect(apply(database, [...beginning, fee(1), fee(2)])).rejects.toThrow(/amountUsd .*taxedUsd/)
  })
})
