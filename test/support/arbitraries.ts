import fc from 'fast-check'
import type { AssetAmount, Prices } from '../../src/domain/attribution.ts'
import { assetsValueUsd } from '../../src/domain/attribution.ts'
import { Decimal, roundUsd } from '../../src/domain/decimal.ts'
import { deposit, revalue, type Valuation, withdraw } from '../../src/domain/flows.ts'
import type { VaultState } from '../../src/domain/vault.ts'

/** A valuation, and the flow that came with it, if one did. */
export interface Step {
  readonly waitSeconds: number
  readonly foundUsd: Decimal
  readonly prices: Prices
  readonly flow: Flow | null
}

export type Flow =
  | { readonly type: 'deposit'; readonly assets: readonly AssetAmount[] }
  /** A share, in millionths, of what was found. */
  | { readonly type: 'withdraw'; readonly share: number }

export const symbols = ['USDC', 'WETH', 'PEPE'] as const

/** A decimal of some places, from 0 to a power of ten. */
export function decimals(integerDigits: number, places: number): fc.Arbitrary<Decimal> {
  const most = 10n ** BigInt(integerDigits + places) - 1n
  return fc.bigInt({ min: 0n, max: most }).map((units) => new Decimal(`${units}e-${places}`))
}

/** Amounts as large as a feed may give. */
export const anyUsd = decimals(32, 6)

/** Amounts that a vault may well hold. */
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

export function stepOf(foundUsd: fc.Arbitrary<Decimal>): fc.Arbitrary<Step> {
  const waitSeconds = fc.integer({ min: 0, max: 100_000 })
  return fc.record({ waitSeconds, foundUsd, prices, flow: fc.option(flow) })
}

/** The life of a vault, in its order. */
export const life = fc.array(stepOf(fc.oneof(usd, fc.constant(new Decimal(0)))), { minLength: 1, maxLength: 12 })

/** Amount of a flow, in USD. */
export function amountOf(moved: Flow, before: Valuation): Decimal {
  if (moved.type === 'deposit') {
    return roundUsd(
      assetsValueUsd(
        moved.assets.map(({ symbol, amount }) => [symbol, amount]),
        before.prices,
      ),
    )
  }
  // Rounded down, so that a share of all is never more than that.
  const micros = BigInt(before.valueUsd.times(1_000_000).toFixed())
  return new Decimal((micros * BigInt(moved.share)) / 1_000_000n, 6)
}

export function takeFlow(vault: VaultState, before: Valuation, moved: Flow): VaultState {
  const amountUsd = amountOf(moved, before)
  return moved.type === 'deposit' ? deposit(vault, before, amountUsd, moved.assets) : withdraw(vault, before, amountUsd)
}

export function take(vault: VaultState, valuation: Valuation, moved: Flow | null): VaultState {
  return moved === null ? revalue(vault, valuation) : takeFlow(vault, valuation, moved)
}

/** A vault's states along its life: before the first step, and after each. */
export function live(vault: VaultState, steps: readonly Step[], fromSeconds = 1_700_000_000): VaultState[] {
  const states = [vault]
  let tsSeconds = fromSeconds
  for (const { waitSeconds, foundUsd, prices: found, flow: moved } of steps) {
    tsSeconds += waitSeconds
    states.push(take(states.at(-1) as VaultState, { tsSeconds, valueUsd: foundUsd, prices: found }, moved))
  }
  return states
}
