import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Decimal } from '../../src/domain/decimal.ts'
import { FigureTooLarge } from '../../src/domain/errors.ts'

import { netUsd, newVault, requireStorable, strategyDeltaUsd, type VaultState } from '../../src/domain/vault.ts'
import { anyUsd, applySteps, decimals, type Step, symbols } from '../support/arbitraries.ts'

const usdText = /^-?\d{1,32}(\.\d{1,6})?$/
const fineText = /^\d{1,40}(\.\d{1,40})?$/

/** Tells whether each stored value of a vault fits its column. */
function isStorable(vault: VaultState): boolean {
  const { benchmark, day } = vault
  const usd = [vault.valueUsd, vault.capitalInUsd, vault.capitalOutUsd, vault.marketDeltaUsd]
  const fine = [...benchmark.holdings.values(), benchmark.paidOutUsd, ...(day === null ? [] : [day.growth])]
  const areAll = (form: RegExp, amounts: readonly Decimal[]) => amounts.every((amount) => form.test(amount.toFixed()))
  return areAll(usdText, [...usd, netUsd(vault), strategyDeltaUsd(vault)]) && areAll(fineText, fine)
}

/** Amounts and prices up to the limits of a feed. */
const steps = fc.array(
  fc.record({
    waitSeconds: fc.integer({ min: 0, max: 20_000 }),
    foundUsd: fc.oneof(anyUsd, decimals(1, 6)),
    prices: fc
      .array(fc.oneof(decimals(60, 18), decimals(32, 18), decimals(1, 18)), { minLength: 3, maxLength: 3 })
      .map((values) => new Map(values.map((value, index) => [symbols[index] as string, value]))),
    flow: fc.option(
      fc.oneof(
        fc
          .array(
            fc.record({
              symbol: fc.constantFrom<string>(...symbols),
              amount: fc.oneof(decimals(40, 18), decimals(1, 18)),
            }),
            { maxLength: 3 },
          )
          .map((assets) => ({ type: 'deposit', assets }) as const),
        fc.integer({ min: 0, max: 1_000_000 }).map((share) => ({ type: 'withdraw', share }) as const),
      ),
    ),
  }) satisfies fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 6 },
)

test('a vault is accepted where all values fit their columns, and else refused with the value that does not', () => {
  let refused = 0
  fc.assert(
    fc.property(steps, (list) => {
      for (const vault of applySteps(newVault, list)) {
        if (isStorable(vault)) expect(requireStorable(vault, 'valueUsd')).toBe(vault)
        else {
          refused++
          expect(() => requireStorable(vault, 'valueUsd')).toThrow(FigureTooLarge)
        }
      }
    }),
  )
  expect(refused).toBeGreaterThan(0)
})
