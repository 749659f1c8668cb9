import type { Address } from 'viem'
import { type Decimal, roundUsd, usdDigits, zero } from '../../domain/decimal.ts'
import { WorthRefused } from '../errors.ts'
import { amountIn, type Token, type TokenPrices, type Tokens } from './tokens.ts'

/** Maximum number of integer digits, one less than in facts: the value before several withdrawals is a sum. */
const maxDigits = usdDigits - 1

/** Tokens and their prices at a block. */
export interface Market {
  readonly tokens: Tokens
  readonly prices: TokenPrices
  /** Tokens that count as nothing, except as emissions. */
  readonly gifts?: ReadonlySet<Address>
}

/** Sums the exact USD value of token amounts. */
export class ValueSum {
  #usd = zero
  /** The amount with the greatest value. */
  #greatest: { readonly token: Token; readonly units: bigint; readonly size: Decimal } | undefined

  constructor(readonly market: Market) {}

  /**
   * Adds an amount in smallest units; unknown tokens and gifts count as nothing.
   * @throws {PriceUnavailable} when a known token has no price
   */
  add(address: Address, units: bigint): this {
    return this.market.gifts?.has(address) === true ? this : this.addEarned(address, units)
  }

  /** Adds an earned amount, which counts even where the token is a gift. */
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
   * Returns the sum, rounded as in facts. Where it has too many digits, the price of the token with the greatest value
   * counts as refused: anyone may have moved the pool that it is read from.
   * @throws {WorthRefused} when the sum has too many digits, unless that token is stable
   */
  rounded(): Decimal {
    const usd = roundUsd(this.#usd)
    if (this.#greatest === undefined || !usd.exceeds(maxDigits)) return usd
    const { token, units } = this.#greatest
    if (token.stable) return usd
    const { prices } = this.market
    const reason = `at ${prices.require(token.symbol).toFixed()} USD an amount would be worth ${usd.toFixed()} USD`
    throw new WorthRefused(token.symbol, prices.block, reason, { token: token.address, units })
  }
}
