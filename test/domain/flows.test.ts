import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal, zero } from '../../src/domain/decimal.ts'
import { AmountMismatch, PriceMissing, WithdrawalOverValue } from '../../src/domain/errors.ts'
import { deposit, revalue, usdText, type Valuation, withdraw } from '../../src/domain/flows.ts'
import { netUsd, newVault, strategyDeltaUsd, type VaultState } from '../../src/domain/vault.ts'
import {
  anyUsd,
  applyFlow,
  applySteps,
  applyValuation,
  assets,
  decimals,
  flow,
  flowAmountUsd,
  prices,
  type Step,
  stepOf,
  usd,
  vaultSteps,
} from '../support/arbitraries.ts'

const now = 1_700_000_000
const unit = new Map([['USDC', new Decimal(1)]])

function micros(amount: Decimal): bigint {
  return BigInt(amount.times(1_000_000).toFixed())
}

/** A vault after a sequence of steps, and a later time. */
const lived = vaultSteps.map((steps) => applySteps(newVault, steps).at(-1) as VaultState)
const valuation: fc.Arbitrary<Valuation> = fc.record({
  tsSeconds: fc.constant(now + 10_000_000),
  valueUsd: usd,
  prices,
})

describe('a valuation', () => {
  test('changes netUsd by the difference to the value carried', () => {
    fc.assert(
      fc.property(lived, valuation, (vault, found) => {
        const valued = revalue(vault, found)
        expect(micros(netUsd(valued)) - micros(netUsd(vault))).toBe(micros(found.valueUsd) - micros(vault.valueUsd))
        const { valueUsd, marketDeltaUsd, day } = valued
        expect(valued).toEqual({ ...vault, valueUsd, marketDeltaUsd, day })
      }),
    )
  })

  test('repeated at the same time changes nothing', () => {
    fc.assert(
      fc.property(lived, valuation, (vault, found) => {
        fc.pre(!found.valueUsd.isZero())
        const once = revalue(vault, found)
        expect(revalue(once, found)).toEqual(once)
      }),
    )
  })

  test('without the price of a deposited asset is refused, and names it', () => {
    const vault = deposit(newVault, at('0'), new Decimal(5), [{ symbol: 'USDC', amount: new Decimal(5) }])
    const blind = { ...at('5'), prices: new Map([['WETH', new Decimal(1)]]) }
    const missing = expect.objectContaining({ symbol: 'USDC', key: 'prices.USDC' }) as Error
    expect(() => revalue(vault, blind)).toThrow(PriceMissing)
    expect(() => revalue(vault, blind)).toThrow(missing)
    expect(() => withdraw(vault, blind, new Decimal(1))).toThrow(missing)
    expect(() => deposit(vault, blind, zero, [])).toThrow(missing)
    expect(() => deposit(newVault, blind, new Decimal(5), [{ symbol: 'USDC', amount: new Decimal(5) }])).toThrow(
      missing,
    )
  })
})

describe('a flow', () => {
  test('does not change netUsd after its valuation', () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, before, moved) => {
        expect(netUsd(applyFlow(vault, before, moved)).equals(netUsd(revalue(vault, before)))).toBe(true)
      }),
    )
  })

  test('at the value carried does not change netUsd', () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, found, moved) => {
        const after = applyFlow(vault, { ...found, valueUsd: vault.valueUsd }, moved)
        expect(netUsd(after).equals(netUsd(vault))).toBe(true)
      }),
    )
  })

  test('moves exactly its amount between the value and the capital', () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, before, moved) => {
        const after = applyFlow(vault, before, moved)
        const amount = micros(flowAmountUsd(moved, before))
        const [added, taken] = moved.type === 'deposit' ? [amount, 0n] : [0n, amount]
        expect(micros(after.valueUsd)).toBe(micros(before.valueUsd) + added - taken)
        expect(micros(after.capitalInUsd)).toBe(micros(vault.capitalInUsd) + added)
        expect(micros(after.capitalOutUsd)).toBe(micros(vault.capitalOutUsd) + taken)
      }),
    )
  })

  test("doesn't change the growth of its valuation", () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, before, moved) => {
        expect(applyFlow(vault, before, moved).day).toEqual(revalue(vault, before).day)
      }),
    )
  })

  test('at the value carried is no growth', () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, found, moved) => {
        const after = applyFlow(vault, { ...found, valueUsd: vault.valueUsd }, moved)
        expect(after.day?.growth.equals(1)).toBe(true)
        expect(after.day?.startUsd.equals(vault.valueUsd)).toBe(true)
      }),
    )
  })

  test('does not mutate the state it is applied to', () => {
    fc.assert(
      fc.property(lived, valuation, flow, (vault, before, moved) => {
        const copy = structuredCloneOf(vault)
        applyFlow(vault, before, moved)
        expect(structuredCloneOf(vault)).toEqual(copy)
      }),
    )
  })
})

describe('through any sequence of valuations and flows', () => {
  const anyLife = fc.oneof(vaultSteps, fc.array(stepOf(anyUsd), { minLength: 1, maxLength: 6 }))

  test('netUsd is the sum of the differences between each valuation and the value carried', () => {
    fc.assert(
      fc.property(anyLife, (steps) => {
        const states = applySteps(newVault, steps)
        const earned = steps.reduce(
          (sum, { foundUsd }, index) => sum + micros(foundUsd) - micros((states[index] as VaultState).valueUsd),
          0n,
        )
        expect(micros(netUsd(states.at(-1) as VaultState))).toBe(earned)
      }),
    )
  })

  test('the strategy and the market sum exactly to netUsd, in whole micro-dollars', () => {
    fc.assert(
      fc.property(anyLife, (steps) => {
        for (const vault of applySteps(newVault, steps)) {
          const net = micros(vault.valueUsd) + micros(vault.capitalOutUsd) - micros(vault.capitalInUsd)
          expect(micros(strategyDeltaUsd(vault)) + micros(vault.marketDeltaUsd)).toBe(net)
          expect(sumOfTexts(usdText(strategyDeltaUsd(vault)), usdText(vault.marketDeltaUsd))).toBe(net)
        }
      }),
    )
  })

  test('the growth of a day is the product of its valuations, each divided by the value carried', () => {
    // All within the day that begins with the first second.
    const quick = vaultSteps.map((steps) =>
      steps.map((step): Step => ({ ...step, waitSeconds: step.waitSeconds % 7_000 })),
    )
    fc.assert(
      fc.property(quick, (steps) => {
        const states = applySteps(newVault, steps, 86_400 * 19_000 + 1)
        const product = steps.reduce((growth, { foundUsd }, index) => {
          const carried = (states[index] as VaultState).valueUsd.toNumber()
          return carried === 0 ? growth : growth * (foundUsd.toNumber() / carried)
        }, 1)
        const { day } = states.at(-1) as VaultState
        expect(day?.day).toBe(19_000)
        expect(day?.startUsd.isZero()).toBe(true)
        expect(Math.abs((day?.growth.toNumber() ?? Number.NaN) - product)).toBeLessThanOrEqual(1e-12 * product + 1e-25)
      }),
    )
  })
})

describe('a deposit', () => {
  test('whose amount differs from the value of its assets is refused, with both', () => {
    const some = fc.integer({ min: -1_000, max: 1_000 }).filter((off) => off !== 0)
    fc.assert(
      fc.property(lived, valuation, assets, some, (vault, before, added, off) => {
        const worthUsd = flowAmountUsd({ type: 'deposit', assets: added }, before)
        const amountUsd = worthUsd.plus(`${off}e-6`)
        expect(() => deposit(vault, before, amountUsd, added)).toThrow(AmountMismatch)
        expect(() => deposit(vault, before, amountUsd, added)).toThrow(
          expect.objectContaining({ key: 'amountUsd', amountUsd: amountUsd.toFixed(), assetsUsd: worthUsd.toFixed() }),
        )
      }),
    )
  })

  test.each([
    ['0.5', '0.000001', '0.000000'],
    ['1.5', '0.000001', '0.000002'],
    ['2.5', '0.000001', '0.000002'],
    ['3', '0.333333333333333333', '1.000000'],
  ])('of %s at %s is worth %s', (amount, price, amountUsd) => {
    const before = { ...at('0'), prices: new Map([['PEPE', new Decimal(price)]]) }
    const added = [{ symbol: 'PEPE', amount: new Decimal(amount) }]
    expect(usdText(deposit(newVault, before, new Decimal(amountUsd), added).valueUsd)).toBe(amountUsd)
  })
})

describe('a withdrawal', () => {
  test('of more than the value of its valuation is refused, with both', () => {
    fc.assert(
      fc.property(lived, valuation, decimals(6, 6), (vault, before, more) => {
        const amountUsd = before.valueUsd.plus(more).plus('0.000001')
        expect(() => withdraw(vault, before, amountUsd)).toThrow(WithdrawalOverValue)
        expect(() => withdraw(vault, before, amountUsd)).toThrow(
          expect.objectContaining({
            key: 'amountUsd',
            amountUsd: amountUsd.toFixed(),
            valueBeforeUsd: before.valueUsd.toFixed(),
          }),
        )
      }),
    )
  })

  test('of the full value of its valuation leaves none, for any value carried', () => {
    fc.assert(
      fc.property(lived, valuation, (vault, before) => {
        expect(withdraw(vault, before, before.valueUsd).valueUsd.isZero()).toBe(true)
      }),
    )
  })
})

test('a sequence of steps computed by hand', () => {
  const eth = (price: string) =>
    new Map([
      ['USDC', new Decimal(1)],
      ['WETH', new Decimal(price)],
    ])
  const on = (valueUsd: string, price: string) => ({
    tsSeconds: now,
    valueUsd: new Decimal(valueUsd),
    prices: eth(price),
  })
  const added = [
    { symbol: 'USDC', amount: new Decimal(1_000) },
    { symbol: 'WETH', amount: new Decimal('0.5') },
  ]
  // Held, 1000 + 0.5 x 2000 = 2000 becomes 1000 + 0.5 x 2400 = 2200; the vault was worth 2300.
  const deposited = deposit(newVault, on('0', '2000'), new Decimal(2_000), added)
  const marked = revalue(deposited, on('2300', '2400'))
  expect(figures(marked)).toEqual(['2300.000000', '300.000000', '200.000000', '100.000000'])
  // Half is withdrawn: 1150, and 1100 of the benchmark. The remainder, 500 + 0.25 x 2000 = 1000: 2100 - 2000 in all.
  const halved = withdraw(marked, on('2300', '2400'), new Decimal(1_150))
  expect(figures(halved)).toEqual(['1150.000000', '300.000000', '200.000000', '100.000000'])
  expect(figures(revalue(halved, on('1000', '2000')))).toEqual(['1000.000000', '150.000000', '100.000000', '50.000000'])

  function figures(vault: VaultState): string[] {
    return [vault.valueUsd, netUsd(vault), vault.marketDeltaUsd, strategyDeltaUsd(vault)].map(usdText)
  }
})

test('a USD amount is stored with its six decimals', () => {
  fc.assert(
    fc.property(anyUsd, (amount) => {
      expect(usdText(amount)).toMatch(/^\d{1,32}\.\d{6}$/)
      expect(BigInt(usdText(amount).replace('.', ''))).toBe(micros(amount))
    }),
  )
})

test('a step without a flow is a valuation', () => {
  const vault = applyValuation(newVault, at('5'), null)
  expect(vault).toEqual(revalue(newVault, at('5')))
})

function at(valueUsd: string): Valuation {
  return { tsSeconds: now, valueUsd: new Decimal(valueUsd), prices: unit }
}

/** Returns the exact sum of served texts. */
function sumOfTexts(...texts: string[]): bigint {
  return texts.reduce((sum, text) => sum + BigInt(text.replace('.', '')), 0n)
}

/** Returns a deep copy for comparisons: decimals as text, and the holdings as entries. */
function structuredCloneOf(vault: VaultState): unknown {
  return JSON.parse(JSON.stringify({ ...vault, holdings: [...vault.benchmark.holdings] })) as unknown
}
