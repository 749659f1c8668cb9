import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { amountsOf, feesOf, growthInside } from '../../src/chain/venues/liquidity-math.ts'
import { maxTick, sqrtPriceAtTick } from '../../src/chain/venues/tick-math.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { randomOf } from './support/random.ts'

describe('the square root of the price at a tick', () => {
  // From the tests of Uniswap's TickMath.
  test.each([
    [-maxTick, 4_295_128_739n],
    [-maxTick + 1, 4_295_343_490n],
    [-50_000, 6_504_256_538_020_985_011_912_221_507n],
    [-500, 77_272_108_795_590_369_356_373_805_297n],
    [-50, 79_030_349_367_926_598_376_800_521_322n],
    [0, 2n ** 96n],
    [50, 79_426_470_787_362_580_746_886_972_461n],
    [500, 81_233_731_461_783_161_732_293_370_115n],
    [50_000, 965_075_977_353_221_155_028_623_082_916n],
    [250_000, 21_246_587_762_933_397_357_449_903_968_194_344n],
    [maxTick - 1, 1_461_373_636_630_004_318_706_518_188_784_493_106_690_254_656_249n],
    [maxTick, 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_342n],
  ])('%i is %i', (tick, root) => {
    expect(sqrtPriceAtTick(tick)).toBe(root)
  })

  test.each([maxTick + 1, -maxTick - 1, 0.5, NaN])('is none for %d', (tick) => {
    expect(() => sqrtPriceAtTick(tick)).toThrow(`${tick} is no tick`)
  })
})

describe('liquidity', () => {
  const range = { lower: -100, upper: 100 }
  const liquidity = 10n ** 18n

  test('is of one token alone where the price is outside, by the tick, though it stands on the bound', () => {
    const sqrtPriceX96 = sqrtPriceAtTick(-100)
    const inside = amountsOf(liquidity, range, { sqrtPriceX96, tick: -100 })
    const below = amountsOf(liquidity, range, { sqrtPriceX96, tick: -101 })
    expect(below).toEqual(inside)
    expect(below[1]).toBe(0n)
    expect(amountsOf(liquidity, range, { sqrtPriceX96: sqrtPriceAtTick(100), tick: 100 })[0]).toBe(0n)
  })

  test('earns by the growth of fees inside of its range, which wraps around', () => {
    const most = 2n ** 256n - 1n
    const global = [5n << 128n, 7n << 128n] as const
    // A bound that was crossed has the growth of its other side, and inside may begin below nothing.
    expect(growthInside(global, [most, 0n], [0n, 0n], range, 0)).toEqual([(5n << 128n) + 1n, 7n << 128n])
    expect(growthInside(global, [1n << 128n, 0n], [3n << 128n, 0n], range, -200)).toEqual([
      most - (2n << 128n) + 1n,
      0n,
    ])
    expect(feesOf(3n, [most, 0n], [(1n << 128n) - 1n, 2n << 127n])).toEqual([3n, 3n])
  })
})

describeOnChain('a pool', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startChain()
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  test('has the tick of a price from its square root on, and not one unit below', async () => {
    const [deployer] = chain.accounts
    const from = deployer as `0x${string}`
    const factory = await chain.deploy(from, artifacts.creationOf(artifacts.factory))
    await chain.block(
      callOf(from, factory, artifacts.factory.abi, 'createPool', [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`, 500]),
    )
    const args = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`, 500]
    const address = (await chain.client.readContract({
      address: factory,
      abi: artifacts.factory.abi,
      functionName: 'getPool',
      args,
    })) as `0x${string}`
    const tickOf = async (root: bigint): Promise<number> => {
      const snapshot = await chain.request({ method: 'evm_snapshot' })
      await chain.block(callOf(from, address, artifacts.pool.abi, 'initialize', [root]))
      const slot0 = await chain.client.readContract({ address, abi: artifacts.pool.abi, functionName: 'slot0' })
      await chain.request({ method: 'evm_revert', params: [snapshot] })
      return (slot0 as readonly [bigint, number])[1]
    }
    const random = randomOf(7)
    const ticks = [
      -maxTick + 1,
      -1,
      0,
      1,
      maxTick - 1,
      ...Array.from({ length: 12 }, () => Math.round((random() - 0.5) * 2 * (maxTick - 1))),
    ]
    for (const tick of ticks) {
      expect(await tickOf(sqrtPriceAtTick(tick))).toBe(tick)
      expect(await tickOf(sqrtPriceAtTick(tick) - 1n)).toBe(tick - 1)
    }
  })
})
