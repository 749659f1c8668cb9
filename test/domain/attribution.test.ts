import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assetsValueUsd,
  type Benchmark,
  depositToBenchmark,
  emptyBenchmark,
  marketDeltaUsd,
  type Prices,
  withdrawFromBenchmark,
} from '../../src/domain/attribution.ts'
import { Decimal, roundUsd, zero } from '../../src/domain/decimal.ts'
import { PriceMissing } from '../../src/domain/errors.ts'
import { netUsd, newVault, strategyDeltaUsd, type VaultState } from '../../src/domain/vault.ts'
import {
  applySteps,
  applyValuation,
  assets,
  decimals,
  flow,
  flowAmountUsd,
  prices,
  share,
  stepOf,
  symbols,
  usd,
  vaultSteps,
} from '../support/arbitraries.ts'

const micro = new Decimal('0.000001')

/** A benchmark after deposits. */
const filled = assets.map((added) => depositToBenchmark(emptyBenchmark, added))
const worth = usd.map((value) => value.plus(micro))

function valueUsd(benchmark: Benchmark, at: Prices): Decimal {
  return assetsValueUsd(benchmark.holdings, at)
}

function isNear(a: Decimal, b: Decimal, within: Decimal | string): boolean {
  return a.minus(b).abs().lessThanOrEqualTo(within)
}

describe("the market's part", () => {
  test('is 0 where only the quote asset was deposited, at a price of 1: all gain is the part of the strategy', () => {
    const amounts = fc.record({ found: usd, deposited: usd, share, flows: fc.constantFrom('in', 'out', 'none') })
    fc.assert(
      fc.property(fc.array(amounts, { maxLength: 12 }), fc.boolean(), (steps, gains) => {
        let vault = newVault
        const unit = new Map([['USDC', new Decimal(1)]])
        steps.forEach(({ found, deposited, share, flows }, index) => {
          const before = { tsSeconds: index * 20_000, valueUsd: gains ? found : vault.valueUsd, prices: unit }
          const added = { type: 'deposit', assets: [{ symbol: 'USDC', amount: deposited }] } as const
          vault = applyValuation(
            vault,
            before,
            flows === 'none' ? null : flows === 'in' ? added : { type: 'withdraw', share },
          )
          expect(vault.marketDeltaUsd.isZero()).toBe(true)
          expect(strategyDeltaUsd(vault).equals(netUsd(vault))).toBe(true)
          if (!gains) expect(netUsd(vault).isZero()).toBe(true)
        })
      }),
    )
  })

  test('is all of netUsd where the vault is worth as much as its deposits, simply held', () => {
    const unvalued = fc.array(stepOf(fc.constant(zero)), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(unvalued, (steps) => {
        let vault = newVault
        let rounding = micro
        steps.forEach(({ prices: at, flow: moved }, index) => {
          const before = { tsSeconds: index * 20_000, valueUsd: roundUsd(valueUsd(vault.benchmark, at)), prices: at }
          vault = applyValuation(vault, before, moved)
          // A withdrawal's share is of a rounded value, so that its part of the benchmark is up to half a micro-dollar off.
          if (moved?.type === 'withdraw') rounding = rounding.plus('0.0000005')
          const tolerance = moved?.type === 'deposit' ? rounding.plus('0.0000005') : rounding
          expect(isNear(vault.marketDeltaUsd, netUsd(vault), tolerance)).toBe(true)
        })
      }),
    )
  })

  test('is close to a computation in floats, for any sequence of steps', () => {
    fc.assert(
      fc.property(vaultSteps, (steps) => {
        const states = applySteps(newVault, steps)
        let held = symbols.map(() => 0)
        let paidOut = 0
        let capitalIn = 0
        steps.forEach(({ foundUsd, prices: at, flow: moved }, index) => {
          const total = () =>
            symbols.reduce((sum, symbol, which) => sum + (held[which] ?? 0) * Number(at.get(symbol)), 0)
          const amount =
            moved === null ? 0 : flowAmountUsd(moved, { tsSeconds: 0, valueUsd: foundUsd, prices: at }).toNumber()
          if (moved?.type === 'deposit') {
            capitalIn += amount
            held = held.map((quantity, which) =>
              moved.assets
                .filter(({ symbol }) => symbol === symbols[which])
                .reduce((sum, added) => sum + added.amount.toNumber(), quantity),
            )
          } else if (amount > 0) {
            const fraction = amount / foundUsd.toNumber()
            paidOut += total() * fraction
            held = held.map((quantity) => quantity * (1 - fraction))
          }
          const expected = total() + paidOut - capitalIn
          const scale = 1 + total() + paidOut + capitalIn
          const { marketDeltaUsd: delta } = states[index + 1] as VaultState
          expect(Math.abs(delta.toNumber() - expected)).toBeLessThanOrEqual(1e-6 * steps.length + 1e-12 * scale)
        })
      }),
    )
  })

  test('is not changed by a flow after its valuation, up to the rounding of its amount', () => {
    fc.assert(
      fc.property(vaultSteps, prices, usd, flow, (steps, at, found, moved) => {
        const vault = applySteps(newVault, steps).at(-1) as VaultState
        const before = { tsSeconds: 1_800_000_000, valueUsd: found, prices: at }
        const delta = applyValuation(vault, before, null).marketDeltaUsd
        expect(isNear(applyValuation(vault, before, moved).marketDeltaUsd, delta, micro)).toBe(true)
      }),
    )
  })

  test('no longer changes once all is withdrawn', () => {
    fc.assert(
      fc.property(vaultSteps, prices, prices, worth, (steps, at, later, found) => {
        const vault = applySteps(newVault, steps).at(-1) as VaultState
        const out = applyValuation(
          vault,
          { tsSeconds: 1_800_000_000, valueUsd: found, prices: at },
          { type: 'withdraw', share: 1_000_000 },
        )
        const delta = (prices: Prices) => marketDeltaUsd(out.benchmark, out.capitalInUsd, prices)
        expect(delta(later).equals(delta(at))).toBe(true)
      }),
    )
  })

  test('is rounded once, half-even', () => {
    const benchmark = (usdc: string): Benchmark => ({
      ...emptyBenchmark,
      holdings: new Map([['USDC', new Decimal(usdc)]]),
    })
    const unit = new Map([['USDC', new Decimal(1)]])
    expect(marketDeltaUsd(benchmark('1.0000005'), new Decimal(1), unit).toFixed()).toBe('0')
    expect(marketDeltaUsd(benchmark('1.0000015'), new Decimal(1), unit).toFixed()).toBe('0.000002')
    // 0.0000005 held and 0.0000005 paid out: rounded separately they would be 0.
    const both = { ...benchmark('0.0000005'), paidOutUsd: new Decimal('0.0000005') }
    expect(marketDeltaUsd(both, zero, unit).toFixed()).toBe('0.000001')
  })
})

/** Rounds a fraction of whole numbers to a whole one, half-even. */
function roundFraction(dividend: bigint, divisor: bigint): bigint {
  const floor = dividend / divisor - (dividend % divisor < 0n ? 1n : 0n)
  const twice = 2n * (dividend - floor * divisor)
  return twice > divisor || (twice === divisor && floor % 2n !== 0n) ? floor + 1n : floor
}

test("after withdrawals of any fraction, the market's part is the exact one, rounded once", () => {
  // A hundred prices in steps of 10^-8 USD: at some of them the exact value is half-way between two micro-dollars.
  const whole = fc.integer({ min: 1, max: 40 })
  fc.assert(
    fc.property(whole, fc.array(fc.tuple(whole, whole), { minLength: 1, maxLength: 4 }), whole, (units, taken, at) => {
      const start = new Map([['WETH', new Decimal(3000)]])
      let benchmark = depositToBenchmark(emptyBenchmark, [{ symbol: 'WETH', amount: new Decimal(units) }])
      // The remainder, and the amount paid out at 3,000 USD, as fractions with one divisor.
      let [left, paid, divisor] = [BigInt(units), 0n, 1n]
      for (const [out, more] of taken) {
        const [amountUsd, valueUsd] = [BigInt(out), BigInt(out + more)]
        benchmark = withdrawFromBenchmark(benchmark, new Decimal(amountUsd), new Decimal(valueUsd), start)
        paid = paid * valueUsd + left * 3000n * amountUsd
        left *= valueUsd - amountUsd
        divisor *= valueUsd
      }
      for (let step = 0n; step < 100n; step++) {
        // In 10^-8 USD.
        const price = 300_000_000_000n + BigInt(at) * 100n + step
        const exact = roundFraction(left * price + paid * 100_000_000n, divisor * 100n)
        const delta = marketDeltaUsd(benchmark, zero, new Map([['WETH', new Decimal(price, 8)]]))
        expect(delta.toFixed()).toBe(new Decimal(exact, 6).toFixed())
      }
    }),
  )
})

describe('a deposit to the benchmark', () => {
  test('adds its quantities exactly, whether at once or one after another', () => {
    fc.assert(
      fc.property(filled, assets, assets, (benchmark, first, second) => {
        const apart = depositToBenchmark(depositToBenchmark(benchmark, first), second)
        const together = depositToBenchmark(benchmark, [...second, ...first])
        for (const symbol of symbols) {
          const added = [...first, ...second].filter((asset) => asset.symbol === symbol)
          const expected = added.reduce((sum, { amount }) => sum.plus(amount), benchmark.holdings.get(symbol) ?? zero)
          expect((apart.holdings.get(symbol) ?? zero).equals(expected)).toBe(true)
          expect((together.holdings.get(symbol) ?? zero).equals(expected)).toBe(true)
        }
        expect(apart.paidOutUsd).toBe(benchmark.paidOutUsd)
      }),
    )
  })

  test('of 0 adds nothing', () => {
    expect(depositToBenchmark(emptyBenchmark, [{ symbol: 'USDC', amount: zero }]).holdings.size).toBe(0)
  })
})

describe('a withdrawal from the benchmark', () => {
  test('of all leaves none of any asset, and pays out its full value', () => {
    fc.assert(
      fc.property(filled, worth, prices, (benchmark, before, at) => {
        const out = withdrawFromBenchmark(benchmark, before, before, at)
        expect([...out.holdings.keys()]).toEqual([...benchmark.holdings.keys()])
        for (const quantity of out.holdings.values()) expect(quantity.isZero()).toBe(true)
        expect(isNear(out.paidOutUsd, valueUsd(benchmark, at), '1e-40')).toBe(true)
      }),
    )
  })

  test('keeps each asset: one with a quantity of 0 still needs a price', () => {
    fc.assert(
      fc.property(vaultSteps, worth, prices, (steps, found, at) => {
        const vault = applySteps(newVault, steps).at(-1) as VaultState
        const before = { tsSeconds: 1_800_000_000, valueUsd: found, prices: at }
        const out = applyValuation(vault, before, { type: 'withdraw', share: 1_000_000 })
        for (const symbol of vault.benchmark.holdings.keys()) {
          const blind = new Map([...at].filter(([priced]) => priced !== symbol))
          expect(() => applyValuation(out, { ...before, prices: blind }, null)).toThrow(
            expect.objectContaining({ symbol, key: `prices.${symbol}` }),
          )
        }
      }),
    )
  })

  test('of 0 does not change it, also where the vault holds nothing', () => {
    fc.assert(
      fc.property(filled, usd, prices, (benchmark, before, at) => {
        expect(withdrawFromBenchmark(benchmark, zero, before, at)).toEqual(benchmark)
        expect(withdrawFromBenchmark(benchmark, zero, zero, at)).toEqual(benchmark)
      }),
    )
  })

  test('takes the same fraction of each quantity, and pays out that fraction of the value', () => {
    fc.assert(
      fc.property(filled, worth, share, prices, (benchmark, before, taken, at) => {
        const out = withdrawFromBenchmark(benchmark, before.times(taken).div(1_000_000), before, at)
        for (const [symbol, quantity] of benchmark.holdings) {
          const left = quantity.times(1_000_000 - taken).div(1_000_000)
          expect(isNear(out.holdings.get(symbol) ?? zero, left, '1e-39')).toBe(true)
        }
        expect(isNear(out.paidOutUsd, valueUsd(benchmark, at).times(taken).div(1_000_000), '1e-39')).toBe(true)
      }),
    )
  })

  test('loses no value: the remainder and the paid-out part sum to the quantity before', () => {
    fc.assert(
      fc.property(filled, worth, decimals(7, 6), prices, (benchmark, before, amount, at) => {
        const out = withdrawFromBenchmark(benchmark, amount.lessThan(before) ? amount : before, before, at)
        const after = valueUsd(out, at).plus(out.paidOutUsd)
        expect(isNear(after, valueUsd(benchmark, at).plus(benchmark.paidOutUsd), '1e-33')).toBe(true)
      }),
    )
  })

  test('in two parts equals one of their sum', () => {
    fc.assert(
      fc.property(filled, worth, fc.nat(1_000_000), fc.nat(1_000_000), prices, (benchmark, before, a, b, at) => {
        const [first, second] = [before.times(a).div(2_000_000), before.times(b).div(2_000_000)]
        const remaining = before.minus(first)
        const apart = withdrawFromBenchmark(withdrawFromBenchmark(benchmark, first, before, at), second, remaining, at)
        const together = withdrawFromBenchmark(benchmark, first.plus(second), before, at)
        for (const symbol of symbols) {
          expect(isNear(apart.holdings.get(symbol) ?? zero, together.holdings.get(symbol) ?? zero, '1e-38')).toBe(true)
        }
        expect(isNear(apart.paidOutUsd, together.paidOutUsd, '1e-33')).toBe(true)
      }),
    )
  })

  test('multiplies before it divides: a third of three is exactly one', () => {
    const three = depositToBenchmark(emptyBenchmark, [{ symbol: 'WETH', amount: new Decimal(3) }])
    const out = withdrawFromBenchmark(three, new Decimal(1), new Decimal(3), new Map([['WETH', new Decimal(2_000)]]))
    expect(out.holdings.get('WETH')?.toFixed()).toBe('2')
    expect(out.paidOutUsd.toFixed()).toBe('2000')
  })

  test('keeps 40 decimals of a repeating decimal', () => {
    const one = depositToBenchmark(emptyBenchmark, [{ symbol: 'WETH', amount: new Decimal(1) }])
    const out = withdrawFromBenchmark(one, new Decimal(1), new Decimal(3), new Map([['WETH', new Decimal(2)]]))
    expect(out.holdings.get('WETH')?.toFixed()).toBe(`0.${'6'.repeat(39)}7`)
    expect(out.paidOutUsd.toFixed()).toBe(`0.${'6'.repeat(39)}7`)
  })
})

describe('the worth of assets', () => {
  test('is the sum of amount x price, not rounded', () => {
    const units = fc.bigInt({ min: 0n, max: 10n ** 58n })
    fc.assert(
      fc.property(fc.array(fc.tuple(units, units), { maxLength: 5 }), (list) => {
        const held = list.map(([amount], index) => [`A${index}`, new Decimal(`${amount}e-18`)] as const)
        const at = new Map(list.map(([, price], index) => [`A${index}`, new Decimal(`${price}e-18`)]))
        const exact = list.reduce((sum, [amount, price]) => sum + amount * price, 0n)
        expect(assetsValueUsd(held, at).times('1e36').toFixed()).toBe(`${exact}`)
      }),
    )
  })

  test('needs a price of each, and names the missing one', () => {
    const held = [
      ['USDC', new Decimal(1)],
      ['WETH', new Decimal(1)],
    ] as const
    const at = new Map([['USDC', new Decimal(1)]])
    expect(() => assetsValueUsd(held, at)).toThrow(PriceMissing)
    expect(() => assetsValueUsd(held, at)).toThrow(expect.objectContaining({ symbol: 'WETH', key: 'prices.WETH' }))
  })
})
