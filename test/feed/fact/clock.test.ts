import { beforeEach, describe, expect, test, vi } from 'vitest'
import { encodePosition } from '../../../src/chain/chain-position.ts'
import { ClockBehind } from '../../../src/feed/errors.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { apply, deposit, mark, midnight, opened, strategy, vaultA } from '../../support/world.ts'

const day = 86_400
const year9999 = 253_402_300_799
const now = midnight + 1_000
const nowSeconds = (): number => now
const start = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')]

let database: TestDatabase

beforeEach(async () => {
  database = await emptyDatabase()
})

const ahead = (ts: number): string =>
  `ts is ${ts}, more than a day (86400 s) ahead of this machine's clock, ${now}: one of the two is wrong`

describe('a fact from the future', () => {
  test.each([
    ['mark', mark(vaultA, year9999, '101')],
    ['event', deposit(vaultA, year9999, '1', '100')],
    ['vault', opened(vaultA, 'one', year9999)],
    ['strategy', strategy('one', year9999)],
    ['screen', { kind: 'screen' as const, ts: year9999, assets: [], pairs: [], strategies: {} }],
  ])('is bad, where it is a %s, and names the clock', async (_kind, fact) => {
    const feed = [...start, fact]
    await expect(apply(database, feed, { nowSeconds })).rejects.toThrow(`line 4: ${ahead(year9999)}`)
  })

  test('is rejected with its kind, and later facts are applied', async () => {
    const rejects = { file: '', write: () => Promise.resolve() }
    const facts = [...start, mark(vaultA, year9999, '101'), mark(vaultA, midnight + 20, '102')]
    expect(await apply(database, facts, { nowSeconds, rejects })).toEqual({
      applied: { strategy: 1, vault: 1, event: 1, mark: 1 },
      skipped: {},
      rejected: { mark: 1 },
    })
    expect((await database.prisma.vault.findFirst())?.valueUsd.toFixed(0)).toBe('102')
  })

  test('is more than a day ahead of the clock when its line is read', async () => {
    await apply(database, [...start, mark(vaultA, now + day, '101')], { nowSeconds })
    const next = [mark(vaultA, now + day + 1, '102')]
    await expect(apply(database, next, { nowSeconds })).rejects.toThrow(`line 1: ${ahead(now + day + 1)}`)
    await apply(database, next, { nowSeconds: () => now + 1 })
  })

  test('is skipped without an error where it is known, though the clock is behind', async () => {
    const known = [...start, mark(vaultA, now + day + 1, '101')]
    await apply(database, known, { nowSeconds: () => now + 1 })
    expect(await apply(database, known, { nowSeconds })).toEqual({
      applied: {},
      skipped: { strategy: 1, vault: 1, event: 1, mark: 1 },
      rejected: {},
    })
    const other = [mark(vaultA, now + day + 1, '102')]
    await expect(apply(database, other, { nowSeconds })).rejects.toBeInstanceOf(ClockBehind)
  })
})

describe("a clock that is more than a day behind the database's newest fact", () => {
  const written: unknown[] = []
  const rejects = {
    file: '',
    write: (some: readonly unknown[]) => Promise.resolve(void written.push(...some)),
  }
  const next = [mark(vaultA, now + 10, '101'), mark(vaultA, now + 20, '102')]

  beforeEach(async () => {
    written.length = 0
    await apply(database, start, { nowSeconds })
  })

  test.each([
    ['bad lines are set aside', { rejects }],
    ['the first bad line ends the run', {}],
  ])('rejects no fact, but delays the feed until it is right, where %s', async (_case, options) => {
    const clocks = [0, 0, now]
    const outageObserver = { onWait: vi.fn<(reason: Error) => void>(), onResume: vi.fn<() => void>() }
    const summary = await apply(database, next, { nowSeconds: () => clocks.shift() ?? now, outageObserver, ...options })
    expect(summary).toEqual({ applied: { mark: 2 }, skipped: {}, rejected: {} })
    expect(written).toEqual([])
    expect(outageObserver.onWait).toHaveBeenCalledExactlyOnceWith(expect.any(ClockBehind))
    expect(outageObserver.onWait.mock.calls[0]?.[0].message).toBe(
      `Line 1 is of ${now + 10}, more than a day ahead of this machine's clock, 0, and so is the newest fact in the database, ` +
        `${midnight + 10}: set the clock. If it is right, remove the line, and start again.`,
    )
    expect(outageObserver.onResume).toHaveBeenCalledOnce()
  })

  test('does not delay earlier lines of any kind, and later ones are applied in order', async () => {
    let clock = midnight + 10 - day - 1
    const early = [strategy('two', clock + day), '{"kind":"trade"}', ...start]
    const late = [mark(vaultA, now + 10, '101'), strategy('three', clock + 1)]
    const names = async (): Promise<string[]> => (await database.prisma.strategy.findMany()).map(({ id }) => id).sort()
    const before: unknown[] = []
    const onWait = vi.fn(async () => {
      before.push(await names(), written.length)
      clock = now
    })
    const outageObserver = { onWait: (): void => void onWait(), onResume: vi.fn() }
    expect(await apply(database, [...early, ...late], { nowSeconds: () => clock, outageObserver, rejects })).toEqual({
      applied: { strategy: 2, mark: 1 },
      skipped: { strategy: 1, vault: 1, event: 1 },
      rejected: { unreadable: 1 },
    })
    expect(onWait).toHaveBeenCalledOnce()
    expect(before).toEqual([['one', 'two'], 1])
    expect(await names()).toEqual(['one', 'three', 'two'])
    expect(written).toHaveLength(1)
  })

  test('does not affect known facts, facts of its own day, and lines that are no facts', async () => {
    const clock = midnight + 10 - day - 1
    const bad = ['{"kind":"trade"}']
    const outageObserver = { onWait: vi.fn(), onResume: vi.fn() }
    const early = [strategy('two', clock + day)]
    expect(
      await apply(database, [...start, ...early, ...bad], { nowSeconds: () => clock, outageObserver, rejects }),
    ).toMatchObject({ applied: { strategy: 1 }, skipped: { strategy: 1, vault: 1, event: 1 } })
    expect(outageObserver.onWait).not.toHaveBeenCalled()
    expect(written).toHaveLength(1)
  })

  test('is not assumed where only the block times of a chain are ahead, also before the end of the chain is reached', async () => {
    const block = { number: 1, hash: `0x${'ab'.repeat(32)}` } as const
    const { fingerprint } = encodePosition(1, { block, late: [], skipsApplied: false })
    await database.prisma.feed.updateMany({ data: { fingerprint } })
    expect(await apply(database, next, { nowSeconds: () => 0, rejects })).toMatchObject({ rejected: { mark: 2 } })
  })
})
