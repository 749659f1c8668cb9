import fc from 'fast-check'
import type { AssetAmount, Prices } from '../../src/domain/attribution.ts'
import { assetsValueUsd } from '../../src/domain/attribution.ts'
import { Decimal, roundUsd } from '../../src/domain/decimal.ts'
import { deposit, revalue, type Valuation, withdraw } from '../../src/domain/flows.ts'
import type { VaultState } from '../../src/domain/vault.ts'

/** A valuation of a vault, with a flow at that time or without one. */
export interface Step {
  /** Seconds since the step before. */
  readonly waitSeconds: number
  /** Value of the vault before the flow. */
  readonly foundUsd: Decimal
  readonly prices: Prices
  readonly flow: Flow | null
}

export type Flow =
  | { readonly type: 'deposit'; readonly assets: readonly AssetAmount[] }
  /** A withdrawal of a share of the vault's value, in millionths. */
  | { readonly type: 'withdraw'; readonly share: number }

export const symbols = ['USDC', 'WETH', 'PEPE'] as const

/** Generates decimals from 0 to below 10 to the power of `integerDigits`, with `places` decimal places. */
export function decimals(integerDigits: number, places: number): fc.Arbitrary<Decimal> {
  const max = 10n ** BigInt(integerDigits + places) - 1n
  return fc.bigInt({ min: 0n, max }).map((units) => new Decimal(`${units}e-${places}`))
}

/** Generates USD amounts up to the maximum of a feed. */
export const anyUsd = decimals(32, 6)

/** Generates USD amounts of a plausible vault. */
export const usd = decimals(7, 6)

export const price = fc.oneof(decimals(1, 18), decimals(5, 8))

export const prices: fc.Arbitrary<Prices> = fc
  .tuple(price, price, price)
  .map((values) => new Map(values.map((value, index) => [symbols[index] as string, value])))

export const assets = fc.array(fc.record({ symbol: fc.constantFrom<string>(...symbols), amount: decimals(5, 18) }), {
  maxLength: 3,
})

export const share = fc.oneof(fc.constant(1_000_000), fc.constant(0), fc.integer({ min: 0, max: 1_000_000 }))

export const flow: fc.Arbitrary<Flow> = fc.oneof(
  assets.map((added): Flow => ({ type: 'deposit', assets: added })),
  share.map((taken): Flow => ({ type: 'withdraw', share: taken })),
)

/** Generates steps with values from another generator. */
export function stepOf(foundUsd: fc.Arbitrary<Decimal>): fc.Arbitrary<Step> {
  const waitSeconds = fc.integer({ min: 0, max: 100_000 })
  return fc.record({ waitSeconds, foundUsd, prices, flow: fc.option(flow) })
}

/** Generates the steps of a vault, in chronological order. */
export const vaultSteps = fc.array(stepOf(fc.oneof(usd, fc.constant(new Decimal(0)))), { minLength: 1, maxLength: 12 })

/** Returns the amount of a flow, in USD. */
export function flowAmountUsd(moved: Flow, before: Valuation): Decimal {
  if (moved.type === 'deposit') {
    return roundUsd(
      assetsValueUsd(
        moved.assets.map(({ symbol, amount }) => [symbol, amount]),
        before.prices,
      ),
    )
  }
  // Rounded down, so that it never exceeds the vault's value.
  const micros = BigInt(before.valueUsd.times(1_000_000).toFixed())
  return new Decimal((micros * BigInt(moved.share)) / 1_000_000n, 6)
}

/** Applies a flow to the state of a vault. */
export function applyFlow(vault: VaultState, before: Valuation, moved: Flow): VaultState {
  const amountUsd = flowAmountUsd(moved, before)
  return moved.type === 'deposit' ? deposit(vault, before, amountUsd, moved.assets) : withdraw(vault, before, amountUsd)
}

/** Applies a valuation, and the flow at that time, if there is one. */
export function applyValuation(vault: VaultState, valuation: Valuation, moved: Flow | null): VaultState {
  return moved === null ? revalue(vault, valuation) : applyFlow(vault, valuation, moved)
}

/** Returns the states of a vault: the given one, and the state after each step. */
export function applySteps(vault: VaultState, steps: readonly Step[], fromSeconds = 1_700_000_000): VaultState[] {
  const states = [vault]
  let tsSeconds = fromSeconds
  for (const { waitSeconds, foundUsd, prices: found, flow: moved } of steps) {
    tsSeconds += waitSeconds
    states.push(applyValuation(states.at(-1) as VaultState, { tsSeconds, valueUsd: foundUsd, prices: found }, moved))
  }
  return states
}
