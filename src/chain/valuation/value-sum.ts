import type { Address } from 'viem'
import { type Decimal, roundUsd, usdDigits, zero } from '../../domain/decimal.ts'
import { WorthRefused } from '../errors.ts'
import { amountIn, type Token, type TokenPrices, type Tokens } from './tokens.ts'

/** Maximum number of digits before the point: the value before several withdrawals is the sum of some. */
const mostDigits = usdDigits - 1

/** Tokens and their prices at a block. */
export interface Market {
  readonly tokens: Tokens
  readonly prices: TokenPrices
  /** Tokens that count as nothing, but for emissions. */
  readonly gifts?: ReadonlySet<Address>
}

/** Sums the exact USD value of token amounts. */
export class ValueSum {
  #usd = zero
  /** That of which the amount is worth most. */
  #greatest: { readonly token: Token; readonly units: bigint; readonly size: Decimal } | undefined

  constructor(readonly market: Market) {}

  /**
   * Adds an amount in smallest units; unknown tokens and gifts count as nothing.
   * @throws {PriceUnavailable} when a known token has no price
   */
  add(address: Address, units: bigint): this {
    return this.market.gifts?.has(address) === true ? this : this.addEarned(address, units)
  }

  /** Adds an amount that nobody can have given, in the same way. */
  addEarned(address: Address, units: bigint): this {
    const token = this.market.tokens.get(address)
    if (token === undefined || units === 0n) return this
    const usd = amountIn(token, units).times(this.market.prices.require(token.symbol))
    this.#usd = this.#usd.plus(usd)
    const size = usd.abs()
    if (this.#greatest === undefined || size.greaterThan(this.#greatest.size))
      this.#greatest = { token, units: units < 0n ? -units : units, size }
    return this
  }

  /** The exact sum. */
  get usd(): Decimal {
    return this.#usd
  }

  /**
   * Returns the sum, rounded as facts have it. Where it has about as many digits as these or more, the price counts as refused of the
   * token of which the amount is worth most: anybody may have moved the pool that tells it.
   * @throws {WorthRefused} when it does, unless that token is stable
   */
  rounded(): Decimal {
    const usd = roundUsd(this.#usd)
    if (this.#greatest === undefined || !usd.exceeds(mostDigits)) return usd
    const { token, units } = this.#greatest
    if (token.stable) return usd
    const { prices } = this.market
    const reason = `at ${prices.require(token.symbol).toFixed()} USD an amount would be worth ${usd.toFixed()} USD`
    throw new WorthRefused(token.symbol, prices.block, reason, { token: token.address, units })
  }
}
